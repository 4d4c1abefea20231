// The plugin that Synapse adds to opencode for one launch: it sends what opencode reports to the host of this
// agent, over the Unix socket that SYNAPSE_EVENTS names. It listens on no port and changes no file.
import net from "node:net"

const REPORTED = new Set([
  "file.edited",
  "message.updated",
  "message.part.updated",
  "permission.asked",
  "permission.replied",
  "question.asked",
  "question.replied",
  "question.rejected",
  "session.error",
  "session.status",
])
const LIMIT = 4 * 1024 * 1024 // characters that are kept of a turn: they are memory of the agent's
const PATIENCE = 250 // milliseconds until the next attempt to connect

let socket = null
let turn = [] // what was reported since the agent was idle: the next host of this agent gets it too
let size = 0
let busy = false
const children = new Set() // the sessions of subagents

function connect() {
  const made = net.createConnection({ path: process.env.SYNAPSE_EVENTS })
  made.unref()
  made.on("connect", () => {
    made.write(["events", JSON.stringify({ type: "synapse.loaded" }), ...turn, ""].join("\n"))
    socket = made
  })
  made.on("error", () => {})
  made.on("close", () => {
    socket = null
    setTimeout(connect, PATIENCE).unref()
  })
}

function send(event) {
  const line = JSON.stringify(event)
  const { info } = event.properties
  if (event.type === "session.status" && !event.child) busy = event.properties.status.type !== "idle"
  if (event.type === "message.updated" && info.role === "user" && !event.child && !busy) {
    turn = []
    size = 0
  }
  size += line.length
  if (size < LIMIT) turn.push(line)
  socket?.write(line + "\n")
}

// What a part says before it is complete, the output of tools and reasoning are left out.
function reported(event) {
  const part = event.properties.part
  if (event.type !== "message.part.updated") return event
  if (part.type === "text") return part.time && part.time.end === undefined ? null : event
  if (part.type !== "tool") return null
  const { status, input, error } = part.state
  return { ...event, properties: { ...event.properties, part: { ...part, state: { status, input, error } } } }
}

export const Synapse = async () => {
  if (!process.env.SYNAPSE_EVENTS) return {}
  connect()
  const instructions = process.env.SYNAPSE_INSTRUCTIONS
  return {
    event: async ({ event }) => {
      const { info, sessionID } = event.properties ?? {}
      if (event.type.startsWith("session.") && info?.parentID) children.add(info.id)
      const told = REPORTED.has(event.type) ? reported(event) : null
      if (told !== null) send({ type: told.type, properties: told.properties, child: children.has(sessionID) })
    },
    ...(instructions && {
      "experimental.chat.system.transform": async (_, output) => void output.system.push(instructions),
    }),
  }
}
