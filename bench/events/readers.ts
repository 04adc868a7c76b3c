import { connect } from "node:net";

/**
 * Run by `bench/events.ts` as a process of its own: so many readers of one server's events. Writes "ready" when all have
 * their snapshots, and each event's milliseconds on the way as JSON when its stdin ends.
 */
const [port, readers] = process.argv.slice(2).map(Number);
if (!port || !readers) throw new Error("give a port and a number of readers");

/** When a change was made stands in it, as milliseconds since the epoch with a fraction. */
const MADE = /made at (\d+\.\d+)/;
const now = () => performance.timeOrigin + performance.now();
const latencies: number[] = [];
let ready = 0;

for (let count = 0; count < readers; count += 1) {
  const socket = connect(port, "127.0.0.1");
  let text = "";
  let isReady = false;
  socket.setEncoding("utf8").on("data", (part) => {
    text += part;
    const events = text.split("\n\n");
    text = events.pop() ?? "";
    const at = now();
    for (const event of events) {
      const made = MADE.exec(event)?.[1];
      if (made) latencies.push(at - Number(made));
      else if (!isReady && event.includes("event: snapshot")) {
        isReady = true;
        ready += 1;
        if (ready === readers) process.stdout.write("ready\n");
      }
    }
  });
  socket.write("GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
}

process.stdin.resume().on("end", () => {
  process.stdout.write(`${JSON.stringify(latencies)}\n`, () => process.exit());
});
