import { useEffect, useState } from "preact/hooks";
import { readLogs } from "../api.ts";
import { time } from "../format.ts";
import { useLoaded } from "../hooks.ts";
import { type Message, type Part, readMessages } from "./messages.ts";

/** Milliseconds between readings while the agent is at work: a conversation is returned whole each time. */
const READ_EVERY_MS = 4_000;

/** Messages that are shown until a person asks for all. */
const SHOWN_MESSAGES = 60;

const PartView = ({ part }: { part: Part }) => {
  switch (part.kind) {
    case "text":
      return part.isForModel ? (
        <details class="for-model">
          <summary>Added for the model</summary>
          <pre>{part.text}</pre>
        </details>
      ) : (
        <pre class="said">{part.text}</pre>
      );
    case "reasoning":
      return (
        <details class="reasoning">
          <summary>Thought</summary>
          <pre>{part.text}</pre>
        </details>
      );
    case "tool":
      return (
        <details class={`tool ${part.status}`}>
          <summary>
            <code>{part.tool}</code> <span>{part.title}</span> <i>{part.status === "completed" ? "" : part.status}</i>
          </summary>
          {part.input !== "" && <pre>{part.input}</pre>}
          {part.output !== "" && <pre>{part.output}</pre>}
        </details>
      );
  }
};

const MessageView = ({ message }: { message: Message }) => (
  <li class={message.role}>
    <p class="who">
      <b>{message.role === "user" ? "Prompt" : message.agent || "Agent"}</b>
      {message.model !== "" && <span>{message.model}</span>}
      {message.at !== undefined && <time dateTime={new Date(message.at).toISOString()}>{time(message.at)}</time>}
    </p>
    {message.parts.map((part) => (
      <PartView key={part.id} part={part} />
    ))}
    {message.error !== "" && <p class="problem">{message.error}</p>}
  </li>
);

/** The conversation of a task, as OpenCode has it. Texts stay texts: nothing in them is taken for HTML. */
export const Conversation = ({ id, version, isActive }: { id: string; version: number; isActive: boolean }) => {
  const [tick, setTick] = useState(0);
  const [isWhole, setWhole] = useState(false);
  useEffect(() => {
    if (!isActive) return;
    const timer = setInterval(() => {
      if (!document.hidden) setTick((times) => times + 1);
    }, READ_EVERY_MS);
    return () => clearInterval(timer);
  }, [isActive]);
  // While it is active, changes come faster than a conversation should be read.
  const key = isActive ? `tick ${tick}` : `change ${version}`;
  const { value: logs, problem } = useLoaded((signal) => readLogs(id, signal), id, key);
  if (problem !== undefined && !logs) return <p class="problem">{problem}</p>;
  if (!logs) return <p class="soft">Loading …</p>;
  const messages = readMessages(logs);
  const hidden = isWhole ? 0 : Math.max(0, messages.length - SHOWN_MESSAGES);
  if (messages.length === 0) return <p class="soft">Nothing was said yet.</p>;
  return (
    <>
      {hidden > 0 && (
        <button type="button" class="more" onClick={() => setWhole(true)}>
          Show {hidden} earlier messages
        </button>
      )}
      <ol class="conversation-view" aria-label="Conversation, oldest first">
        {messages.slice(hidden).map((message) => (
          <MessageView key={message.id} message={message} />
        ))}
      </ol>
    </>
  );
};
