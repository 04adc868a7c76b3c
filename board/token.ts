// The token comes in the address's fragment, which is sent to no server, and stands in no log and no `Referer`.
const KEY = "taskchart.token";

/** Takes the token out of the address, where `opencode-taskchart open` has put it, before anybody can see or copy it. */
export const takeTokenFromAddress = (): void => {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given === null) return;
  history.replaceState(history.state, "", location.pathname + location.search);
  if (given !== "") keepToken(given);
};

/** Keeps the token for as long as this tab is open. */
export const keepToken = (token: string): void => sessionStorage.setItem(KEY, token);

/** Returns the token; undefined when the page has none. */
export const readToken = (): string | undefined => sessionStorage.getItem(KEY) ?? undefined;

/** Forgets a token that the server does not accept: it is that of a server that has ended. */
export const forgetToken = (): void => sessionStorage.removeItem(KEY);
