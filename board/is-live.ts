import { createContext } from "preact";

/** Whether the page is connected to a server. While it is not, nothing that it shows can be acted on. */
export const IsLive = createContext(true);
