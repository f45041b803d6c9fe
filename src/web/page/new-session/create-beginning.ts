import type { RemoteClient, RemoteSettingsChange } from '../libero.ts'
import { runLine } from '../model/run-line.ts'
import { sendWithFiles } from '../model/send-with-files.ts'
import type { NewSessionDraft } from './new-session-draft.ts'

/** A session that was made, and not begun because something failed after that. */
interface MadeSession {
  readonly id: string
  readonly folder: string
  choices: RemoteSettingsChange
  message?: { readonly key: string; readonly content: string }
}

/**
 * Begins sessions: makes one, sets what was chosen, and sends its first line. After a failure the next try takes the session that is
 * made already, unless it is for another folder. Resolves with the id.
 */
export function createBeginning(client: RemoteClient): (draft: NewSessionDraft) => Promise<string> {
  let made: MadeSession | undefined
  return async ({ text, folder: given = '', ...chosen }) => {
    const folder = given.trim()
    if (made?.folder !== folder) {
      const { id } = await client.sessions.make(folder === '' ? {} : { folder })
      made = { id, folder, choices: {} }
    }
    const { id } = made
    const choices = choicesOf(chosen)
    const change = { ...nothingOf(made.choices), ...choices }
    made.choices = change
    // Before the message, which is answered with them.
    if (Object.keys(change).length > 0) await client.sessions.changeSettings(id, change)
    if ((await runLine(client, id, text.trimEnd())) === undefined) {
      const content = text.trim()
      if (made.message?.content !== content) made.message = { key: crypto.randomUUID(), content }
      await sendWithFiles(client, id, made.message)
    }
    made = undefined
    return id
  }
}

/** Takes back what the try before has set. */
const nothingOf = (choices: RemoteSettingsChange): RemoteSettingsChange =>
  Object.fromEntries(Object.keys(choices).map((name) => [name, null]))

function choicesOf({
  model = '',
  mode = '',
  profile = '',
}: Omit<NewSessionDraft, 'text' | 'folder'>): RemoteSettingsChange {
  const at = model.indexOf('/')
  return {
    ...(at > 0 && { model: { provider: model.slice(0, at), model: model.slice(at + 1) } }),
    ...(mode !== '' && { mode: mode as 'ask' }),
    ...(profile !== '' && { profile }),
  }
}
