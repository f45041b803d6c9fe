import type { Chat, ChatSettings } from '../../chat/chat.ts'
import type { ChatCommand } from '../../chat/command.ts'
import type { CommandWork } from '../../chat/lazy-command.ts'
import type { RunValues } from '../commands/run.ts'
import type { ServeValues } from '../commands/serve.ts'
import type { Io } from '../io.ts'
import { loginLink } from '../serve/login-link.ts'
import type { OneTimeCodes } from '../serve/one-time-codes.ts'
import type { ServeBesideOptions, ServedBeside } from '../serve/serve.ts'
import { chosenValues } from './open-chat-agent.ts'

/** The commands of a terminal: `/web` needs the server, which has commands of its own and so cannot be in their list. */
export function withWeb(commands: readonly ChatCommand[], flags: RunValues, io: Io): readonly ChatCommand[] {
  const web = { name: 'web', summary: 'Open this session on a page in the browser', ...openWeb(flags, io) }
  const before = commands.findIndex(({ name }) => name === 'doctor')
  return commands.toSpliced(before, 0, web)
}

/** The page of the open session, served by this process until the chat ends. The session goes on in both. */
const openWeb = (flags: RunValues, io: Io): CommandWork => ({
  async run(_, { chat, screen }) {
    const { sessionId, settings, view } = chat.state
    if (sessionId === undefined || view.head === 0)
      throw new Error('The page shows a session, and this one has no message yet; send one first')
    const { folder: cwd = io.cwd } = settings
    const options = { values: servedValues(flags, settings), io, cwd, notify: (text: string) => screen.print(text) }
    const serving = served.get(chat) ?? serveUntilClosed(chat, options)
    served.set(chat, serving)
    serving.catch(() => served.delete(chat)) // what is wrong may be right at the next try
    const { address, token, codes } = await serving
    const path = `/s/${encodeURIComponent(sessionId)}`
    const link = loginLink({ address, token, path })
    screen.print(`This session on a page, until this program ends: ${link}`, { isRaw: true })
    const { openBrowser } = await import('../../auth/open-browser.ts')
    const once = loginLink({ address, token: codes.codeFor(token), path })
    await openBrowser(once).catch(() => screen.print('No browser could be opened; open the address above yourself.'))
    await followWhenIdle(chat, sessionId)
  },
})

/** What the terminal works with now: a message of the page must not run with more rights than one that is typed here. */
function servedValues({ 'no-session': _, ...flags }: RunValues, { profile, ...settings }: ChatSettings): ServeValues {
  // Another preset is the one that the flags or the settings name.
  const isProfile = profile === 'build' || profile === 'plan'
  return chosenValues(flags, {}, { ...settings, ...(isProfile && { profile }) })
}

/** One server for each chat, however often it is asked for. */
const served = new WeakMap<Chat, Promise<ServedPage>>()

interface ServedPage extends ServedBeside {
  readonly codes: OneTimeCodes
}

async function serveUntilClosed(chat: Chat, options: ServeBesideOptions): Promise<ServedPage> {
  const [{ serveBeside }, { OneTimeCodes }, { createWebPage }] = await Promise.all([
    import('../serve/serve.ts'),
    import('../serve/one-time-codes.ts'),
    import('../../web/create-web-page.ts'),
  ])
  const codes = new OneTimeCodes()
  const beside = await serveBeside((server) => codes.loggingIn(createWebPage({ server }).fetch), options)
  const unsubscribe = chat.subscribe(() => {
    if (chat.state.phase !== 'closed') return
    unsubscribe()
    void beside.close()
  })
  return { ...beside, codes }
}

/** From then on the terminal shows what the page does too: a chat that is attached follows the session wherever it runs. */
async function followWhenIdle(chat: Chat, sessionId: string): Promise<void> {
  if (chat.state.isAttached || chat.state.sessionId !== sessionId) return
  if (chat.state.phase === 'idle') return chat.open({ attach: sessionId })
  const unsubscribe = chat.subscribe(() => {
    if (chat.state.phase !== 'idle') return
    unsubscribe()
    void followWhenIdle(chat, sessionId)
  })
}
