/** A server-sent event: its name, and its data as text. */
export interface ServerSentEvent {
  name: string;
  data: string;
}

/** Reads one event. A line that is neither its name nor its data says nothing that is needed. */
const parse = (block: string): ServerSentEvent => {
  const fields = { event: "message", data: [] as string[] };
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    const value = line.slice(colon + 1).replace(/^ /, "");
    if (line.startsWith("event:")) fields.event = value;
    if (line.startsWith("data:")) fields.data.push(value);
  }
  return { name: fields.event, data: fields.data.join("\n") };
};

/** Reads a text that comes in parts as server-sent events. An event that is cut off at the end is left out. */
export async function* readServerSentEvents(parts: AsyncIterable<string>): AsyncGenerator<ServerSentEvent> {
  let text = "";
  for await (const part of parts) {
    // What was searched already is not searched again: a snapshot of many tasks comes in many parts.
    const searched = Math.max(0, text.length - 1);
    text += part;
    if (!text.includes("\n\n", searched)) continue;
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) if (block !== "") yield parse(block);
  }
}
