import { expect, test } from "vitest";
import { readServerSentEvents, type ServerSentEvent } from "../../src/client/server-sent-events.ts";

const read = async (parts: string[]) => {
  async function* each() {
    yield* parts;
  }
  const events: ServerSentEvent[] = [];
  for await (const event of readServerSentEvents(each())) events.push(event);
  return events;
};

const TEXT =
  'id: 7\nevent: task.updated\ndata: {"a":1}\n\n: a comment\n\nevent: heartbeat\ndata: {}\n\nevent: cut off\nda';
const EVENTS = [
  { name: "task.updated", data: '{"a":1}' },
  { name: "message", data: "" },
  { name: "heartbeat", data: "{}" },
];

test("events are the same wherever the text is split", async () => {
  expect(await read([TEXT])).toEqual(EVENTS);
  for (let at = 1; at < TEXT.length; at += 1) expect(await read([TEXT.slice(0, at), TEXT.slice(at)])).toEqual(EVENTS);
  expect(await read([...TEXT])).toEqual(EVENTS);
});
