import { useState } from 'preact/hooks'
import { useModel } from '../model/model.ts'
import type { PageModel } from '../model/page-model.ts'
import { wordsOf } from '../parts/use-action.ts'

/** Asks for the token of the server, and says why the last one did not log in. */
export function LoginScreen({ page }: { readonly page: PageModel }) {
  const refusal = useModel(page, (state) => state.refusal)
  const [tried, setTried] = useState<string>()
  const problem = tried ?? refusal
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const token = new FormData(event.currentTarget as HTMLFormElement).get('token')
    setTried('')
    await page.login(String(token).trim()).catch((error: unknown) => setTried(wordsOf(error)))
  }
  return (
    <main class="login">
      <h1>Libero</h1>
      <p>
        This page needs the token of its server. Open the link that <code>libero web</code> printed, or paste it or its
        token:
      </p>
      <form onSubmit={submit}>
        <label>
          Token
          <input name="token" type="password" autocomplete="current-password" required />
        </label>
        <button type="submit" class="primary">
          Log in
        </button>
      </form>
      {problem && <p role="alert">{`The login failed: ${problem}`}</p>}
    </main>
  )
}
