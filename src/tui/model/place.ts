/** Names and addresses of this machine. */
export type OwnNames = ReadonlySet<string>;

/** The address under which OpenCode's interface reaches a server in its own process. */
const IN_PROCESS = "opencode.internal";

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\]|::1|0\.0\.0\.0)$/;

/**
 * Returns the name of the other machine that the server at an address runs on; undefined where it is this one, or the
 * address does not say so. A tunnel from this machine looks like this machine.
 */
export const otherMachine = (url: string | undefined, ownNames: OwnNames): string | undefined => {
  if (url === undefined || !URL.canParse(url)) return undefined;
  const name = new URL(url).hostname.toLowerCase();
  const bare = name.replace(/^\[|\]$/g, "");
  return name === IN_PROCESS || LOOPBACK.test(name) || ownNames.has(bare) ? undefined : name;
};

/** Says what cannot be seen from here, and where it can. */
export const otherMachineText = (name: string): string =>
  `Tasks run on another machine; the panel on this one does not reach them. On ${name}, opencode-taskchart list shows them.`;
