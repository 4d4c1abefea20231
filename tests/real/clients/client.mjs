// A client of version 1.0 that we did not write: node client.mjs <url> <JSONRPC|HTTP+JSON> <modules>
import { pathToFileURL } from 'node:url';

const [url, binding, modules] = process.argv.slice(2);
const sdk = await import(pathToFileURL(`${modules}/@a2a-js/sdk/dist/client/index.js`));
const { Role, TaskState } = await import(pathToFileURL(`${modules}/@a2a-js/sdk/dist/index.js`));

const options = sdk.ClientFactoryOptions.createFrom(sdk.ClientFactoryOptions.default, {
  preferredTransports: [binding],
});
const client = await new sdk.ClientFactory(options).createFromUrl(url);
let number = 0;
const message = (text, more = {}) => ({
  message: {
    messageId: `m${++number}`, role: Role.ROLE_USER, contextId: '', taskId: '',
    parts: [{ content: { $case: 'text', value: text }, filename: '', mediaType: '' }],
    extensions: [], referenceTaskIds: [], ...more,
  },
});
const text = (parts) => parts.map((part) => part.content.value).join('');
const state = (task) => TaskState[task.status.state];

const said = await client.sendMessage(message('say hello'));

const kinds = [];
let streamed = '';
for await (const event of client.sendMessageStream(message('stream a|b|c'))) {
  const { $case, value } = event.payload;
  kinds.push($case);
  if ($case === 'artifactUpdate') {
    streamed = value.append ? streamed + text(value.artifact.parts) : text(value.artifact.parts);
  }
}

const asking = await client.sendMessage(message('ask Run ls?'));
const [question, data] = asking.status.message.parts;
const answered = await client.sendMessage(message('y', { taskId: asking.id }));

const held = await client.sendMessage({ ...message('hold'), configuration: { returnImmediately: true, acceptedOutputModes: [] } });
const canceled = await client.cancelTask({ id: held.id, tenant: '' });
const listed = await client.listTasks({ tenant: '', contextId: '', status: TaskState.TASK_STATE_UNSPECIFIED, pageToken: '', pageSize: 2 });

let unknown = '';
try {
  await client.getTask({ id: 'nothing', tenant: '' });
} catch (error) {
  unknown = error.constructor.name;
}

console.log(JSON.stringify({
  version: client.protocolVersion,
  said: text(said.artifacts[0].parts),
  kinds,
  streamed,
  question: question.content.value,
  options: data.content.value.options,
  asking: state(asking),
  answered: text(answered.artifacts[0].parts),
  canceled: state(canceled),
  listed: [listed.tasks.length, listed.totalSize, listed.nextPageToken !== ''],
  unknown,
}));
