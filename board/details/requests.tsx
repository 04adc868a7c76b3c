import { useState } from "preact/hooks";
import type { ApiTask } from "../../src/services/http/contract/api-task.ts";
import type { UserReply } from "../../src/user-request.ts";
import { answerRequest } from "../api.ts";
import { time } from "../format.ts";
import { useAction } from "./use-action.ts";

type Request = NonNullable<NonNullable<ApiTask["attention"]>["requests"]>[number];
type Question = NonNullable<Request["questions"]>[number];

interface RequestProps {
  request: Request;
  canAct: boolean;
  onReply(reply: UserReply): void;
}

const Permission = ({ request, canAct, onReply }: RequestProps) => {
  const [message, setMessage] = useState("");
  const requestId = request.id;
  const always = request.always ?? [];
  return (
    <form onSubmit={(event) => event.preventDefault()}>
      <div class="buttons">
        <button type="button" class="primary" disabled={!canAct} onClick={() => onReply({ requestId, reply: "once" })}>
          Allow once
        </button>
        <button type="button" disabled={!canAct} onClick={() => onReply({ requestId, reply: "always" })}>
          Always allow{always.length > 0 && <code>{always.join(", ")}</code>}
        </button>
        <button
          type="button"
          disabled={!canAct}
          onClick={() =>
            onReply({ requestId, reply: "reject", ...(message.trim() === "" ? {} : { message: message.trim() }) })
          }
        >
          Reject
        </button>
        <label class="grow">
          <span class="sr">Why it is rejected</span>
          <input
            placeholder="Why, for a rejection"
            value={message}
            onInput={({ currentTarget }) => setMessage(currentTarget.value)}
          />
        </label>
      </div>
    </form>
  );
};

const QuestionFields = ({
  question: { question, options, multiple, custom },
  name,
  answers,
  onAnswers,
}: {
  question: Question;
  name: string;
  answers: string[];
  onAnswers: (answers: string[]) => void;
}) => {
  const own = answers.find((answer) => !options.includes(answer)) ?? "";
  const chosen = answers.filter((answer) => options.includes(answer));
  const choose = (option: string, isOn: boolean) => {
    if (!multiple) return onAnswers(isOn ? [option] : []);
    onAnswers([...answers.filter((answer) => answer !== option), ...(isOn ? [option] : [])]);
  };
  return (
    <fieldset>
      <legend>{question}</legend>
      {options.map((option) => (
        <label key={option} class="option">
          <input
            type={multiple ? "checkbox" : "radio"}
            name={name}
            checked={chosen.includes(option)}
            onChange={({ currentTarget }) => choose(option, currentTarget.checked)}
          />{" "}
          {option}
        </label>
      ))}
      {(custom || options.length === 0) && (
        <label class="own">
          <span class="sr">Your own answer</span>
          <input
            placeholder={options.length > 0 ? "Or your own answer" : "Your answer"}
            value={own}
            onInput={({ currentTarget: { value } }) =>
              onAnswers([...(multiple ? chosen : []), ...(value === "" ? [] : [value])])
            }
          />
        </label>
      )}
    </fieldset>
  );
};

const Questions = ({ request, canAct, onReply }: RequestProps) => {
  const questions = request.questions ?? [];
  const [answers, setAnswers] = useState<string[][]>(() => questions.map(() => []));
  const isComplete = questions.every((_, index) => (answers[index] ?? []).some((answer) => answer.trim() !== ""));
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (isComplete) onReply({ requestId: request.id, answers });
      }}
    >
      {questions.map((question, index) => (
        <QuestionFields
          key={question.question}
          question={question}
          name={`${request.id}-${index}`}
          answers={answers[index] ?? []}
          onAnswers={(given) => setAnswers(answers.with(index, given))}
        />
      ))}
      <div class="buttons">
        <button type="submit" class="primary" disabled={!canAct || !isComplete}>
          Answer
        </button>
        <button type="button" disabled={!canAct} onClick={() => onReply({ requestId: request.id, reply: "reject" })}>
          Reject
        </button>
      </div>
    </form>
  );
};

interface RequestsProps {
  task: ApiTask;
  hasToken: boolean;
  onChanged(task: ApiTask): void;
  onTokenLost(): void;
}

/** What a task asks a person, with the answers that can be given. */
export const Requests = ({ task, hasToken, onChanged, onTokenLost }: RequestsProps) => {
  const { canAct, problem, act } = useAction(onChanged, onTokenLost);
  const requests = task.attention?.requests ?? [];
  if (requests.length === 0 && problem === "") return null;
  return (
    <section class="requests" aria-label="Waits for you">
      {requests.map((request) => {
        const props = {
          request,
          canAct,
          onReply: (reply: UserReply) => void act(() => answerRequest(task.sessionID, reply)),
        };
        return (
          <article key={request.id}>
            <h3>
              {request.kind === "permission" ? "Asks for a permission" : "Asks a question"}{" "}
              <span class="soft">since {time(request.since)}</span>
            </h3>
            <pre>{request.what}</pre>
            {!hasToken ? null : request.kind === "permission" ? <Permission {...props} /> : <Questions {...props} />}
          </article>
        );
      })}
      {problem !== "" && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {!hasToken && (
        <p class="soft">
          To answer here, open this page with <code>opencode-taskchart open</code>.
        </p>
      )}
    </section>
  );
};
