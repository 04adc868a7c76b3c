import { useState } from "preact/hooks";

/** Asks for the token of the server. */
export const TokenForm = ({ reason, onToken }: { reason: string; onToken: (token: string) => void }) => {
  const [token, setToken] = useState("");
  return (
    <form
      class="token"
      onSubmit={(event) => {
        event.preventDefault();
        if (token.trim() !== "") onToken(token.trim());
      }}
    >
      <p>{reason}</p>
      <label>
        Token
        <input
          type="password"
          autocomplete="off"
          value={token}
          onInput={({ currentTarget }) => setToken(currentTarget.value)}
        />
      </label>
      <button type="submit">Use it</button>
    </form>
  );
};
