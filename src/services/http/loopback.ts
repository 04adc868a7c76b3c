/** The address that the server is bound to: only programs of this machine can reach it. */
export const LOOPBACK = "127.0.0.1";

/** The first port that a server tries, unless the environment names another one. */
export const DEFAULT_PORT = 5_165;

const HOST = "(?:localhost|127\\.0\\.0\\.1|\\[::1\\])(?::\\d{1,5})?";
const LOOPBACK_HOST = new RegExp(`^${HOST}$`, "i");
const LOOPBACK_ORIGIN = new RegExp(`^https?://${HOST}$`, "i");

/** True for the host of a URL or a `Host` header that means this machine, with or without a port. */
export const isLoopback = (host: string): boolean => LOOPBACK_HOST.test(host);

/** True for the origin of a page that this machine serves. */
export const isLoopbackOrigin = (origin: string): boolean => LOOPBACK_ORIGIN.test(origin);
