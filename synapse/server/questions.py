"""What the agent asks now, and the answer to it: in a task, or in its human's own turn."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Path
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from synapse.delivery.questions import Questions
from synapse.server.dialect.models import Document, SenderOrName
from synapse.server.refusals import Route, responses

_EXAMPLES: dict[str, Any] = {
    "option": {"summary": "An option by its key, its label or its number", "value": {"answer": "1"}},
    "text": {"summary": "A text", "value": {"answer": "src/main.py"}},
}
QuestionId = Annotated[str, Path(description="the question's id; it is no longer valid when it is answered")]


class Option(Document):
    key: str = Field(examples=["1"])
    label: str = Field(examples=["Yes"])


class QuestionDocument(Document):
    id: str
    agent: str = Field(description="the agent's name")
    task: str | None = Field(description="the task in which it asks; null in the human's own turn")
    type: str = Field(description="confirmation, selection, text or password")
    subject: str | None = Field(description="what it is about in one line: the command, the file, the URL")
    detail: str | None = Field(description="the whole command, change or dialog")
    question: str = Field(description="the question alone")
    text: str = Field(description="all of that, to be shown to a human")
    options: list[Option] = Field(description="what can be answered; empty if any text can")
    asked_at: str = Field(examples=["2026-01-01T12:00:00.000Z"])
    default: str | None = Field(None, description="what an empty answer means")
    permission: bool | None = Field(None, description="a yes runs something")
    unseen: str | None = Field(None, description="a sentence, if not all that a yes would run is shown")


class QuestionList(Document):
    questions: list[QuestionDocument]


class AnswerRequest(BaseModel):
    answer: str = Field(description="an option's key, label or number, or text; empty selects the default")
    sender: SenderOrName | None = None


class Answered(Document):
    status: str = "answered"
    question: QuestionDocument


AnswerBody = Annotated[AnswerRequest, Body(openapi_examples=_EXAMPLES)]


def question_routes(questions: Questions) -> APIRouter:
    router = APIRouter(prefix="/questions", route_class=Route, tags=["Questions"])

    @router.get("", response_model=QuestionList)
    async def list_questions() -> Response:
        """List what the agent asks now."""
        return JSONResponse({"questions": [question.to_dict() for question in questions.list()]})

    @router.post("/{question_id}", response_model=Answered, responses=responses(403, 409, 413))
    async def answer(question_id: QuestionId, request: AnswerBody) -> Response:
        """Answer a question. If it is no longer the one on the agent's screen, nothing is typed (409)."""
        by = request.sender.neutral() if request.sender else None
        question = await questions.answer(question_id, request.answer, by)
        return JSONResponse({"status": "answered", "question": question.to_dict()})

    return router
