import { useState } from 'preact/hooks'
import { RemoteProblem } from '../libero.ts'
import type { PageModel } from '../model/page-model.ts'

/** Asks for the token of the server. */
export function LoginScreen({ page }: { readonly page: PageModel }) {
  const [problem, setProblem] = useState<string>()
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const token = new FormData(event.currentTarget as HTMLFormElement).get('token')
    setProblem(undefined)
    await page.login(String(token).trim()).catch((error: unknown) => {
      setProblem(error instanceof RemoteProblem ? error.detail : String(error))
    })
  }
  return (
    <main class="login">
      <h1>Libero</h1>
      <p>
        This page needs the token of its server. Open the link that <code>libero web</code> printed, or paste the token:
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
      {problem !== undefined && <p role="alert">{`The token was refused: ${problem}`}</p>}
    </main>
  )
}
