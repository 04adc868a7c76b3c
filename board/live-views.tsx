import { useEffect, useState } from "preact/hooks";
import { knownServers, onServers } from "./servers.ts";

/** Links to the live views of all OpenCode processes that have theirs on: each shows the charts of its own process alone. */
export const LiveViews = () => {
  const [, redraw] = useState(0);
  useEffect(() => onServers(() => redraw((times) => times + 1)), []);
  return (
    <>
      {knownServers().map(({ pid, url, liveView, isThis }) =>
        liveView === undefined ? null : (
          <a key={pid} href={isThis ? liveView : url + liveView}>
            Live view of process {pid}
          </a>
        ),
      )}
    </>
  );
};
