import { type LoginOptions, login } from '../../auth/login.ts'
import { codexOAuth } from '../../auth/oauth.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { CliError, exitCodes } from '../cli-error.ts'
import type { Io } from '../io.ts'
import { openCredentials } from '../models/credentials.ts'
import type { Prompter } from './log-in.ts'

/** Logs in through the browser of this machine, or of another one whose final address is pasted here. Resolves with the path of the stored login. */
export async function browserLogin(
  name: string,
  prompter: Prompter | undefined,
  io: Io,
  { endpoints = codexOAuth, openBrowser }: Partial<Pick<LoginOptions, 'endpoints' | 'openBrowser'>> = {},
): Promise<string> {
  const store = await openCredentials(io)
  const stopped = new AbortController()
  const stopListening = io.onSignal(() => stopped.abort())
  try {
    await login({
      name,
      endpoints,
      store,
      fetch: io.fetch,
      signal: stopped.signal,
      print: (text) => (prompter ? prompter.say(fullyVisible(text)) : io.err(fullyVisible(text))),
      ...(openBrowser && { openBrowser }),
      ...(prompter && { paste: (signal: AbortSignal) => paste(prompter, signal, stopped) }),
    })
    return store.path
  } catch (error) {
    if (stopped.signal.aborted)
      throw new CliError('the login was stopped, and nothing was stored', exitCodes.interrupted, { cause: error })
    throw error
  } finally {
    stopListening()
  }
}

/** Ctrl-C at this prompt stops the whole login. */
async function paste(prompter: Prompter, signal: AbortSignal, stopped: AbortController): Promise<string> {
  try {
    const answer = await prompter.ask('or paste the address at which it ended: ', { signal })
    if (answer !== undefined) return answer
    stopped.abort()
  } catch (error) {
    if (!signal.aborted) stopped.abort()
    throw error
  }
  throw new Error('nothing was pasted')
}
