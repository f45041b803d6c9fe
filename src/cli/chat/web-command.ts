import type { Chat, ChatSettings } from '../../chat/chat.ts'
import type { ChatCommand } from '../../chat/command.ts'
import type { CommandWork } from '../../chat/lazy-command.ts'
import type { RunValues } from '../commands/run.ts'
import type { ServeValues } from '../commands/serve.ts'
import type { Io } from '../io.ts'
import { loginLink } from '../serve/login-link.ts'
import type { OneTimeCodes } from '../serve/one-time-codes.ts'
import type { ServedBeside } from '../serve/serve.ts'
import { chosenValues } from './open-chat-agent.ts'

/** `/web` of one chat. */
export interface WebOfChat {
  /** The commands of a terminal with `/web`: it needs the server, which has commands of its own and so cannot be in their list. */
  withWeb(commands: readonly ChatCommand[]): readonly ChatCommand[]
  /** Leaves the runs that the page began, and resolves when they are left. */
  close(): Promise<void>
}

export function createWebOfChat(flags: RunValues, io: Io): WebOfChat {
  /** One server, however often it is asked for. */
  let serving: Promise<ServedPage> | undefined
  const serve = (chat: Chat, notify: (text: string) => void): Promise<ServedPage> => {
    const begun = (serving ??= servePage(chat, { flags, io, notify }))
    begun.catch(() => {
      if (serving === begun) serving = undefined // what is wrong may be right at the next try
    })
    return begun
  }
  const web = { name: 'web', summary: 'Open this session on a page in the browser', ...openWeb(serve) }
  return {
    withWeb(commands) {
      const before = commands.findIndex(({ name }) => name === 'doctor')
      return commands.toSpliced(before, 0, web)
    },
    close: async () => (await serving?.catch(() => undefined))?.close(),
  }
}

/** The page of the open session, served by this process until the chat ends. The session goes on in both. */
const openWeb = (serve: (chat: Chat, notify: (text: string) => void) => Promise<ServedPage>): CommandWork => ({
  async run(_, { chat, screen }) {
    const { sessionId, view } = chat.state
    if (sessionId === undefined || view.head === 0)
      throw new Error('The page shows a session, and this one has no message yet; send one first')
    const { address, token, codes, follow } = await serve(chat, (text) => screen.print(text))
    const path = `/s/${encodeURIComponent(sessionId)}`
    const link = loginLink({ address, token, path })
    screen.print(`This session on a page, until this program ends: ${link}`, { isRaw: true })
    const { openBrowser } = await import('../../auth/open-browser.ts')
    const once = loginLink({ address, token: codes.codeFor(token), path })
    await openBrowser(once).catch(() => screen.print('No browser could be opened; open the address above yourself.'))
    follow(sessionId)
  },
})

/** What the terminal works with: a message of the page must not run with more rights than one that is typed here. */
function servedValues({ 'no-session': _, ...flags }: RunValues, { profile, ...settings }: ChatSettings): ServeValues {
  // Another preset is the one that the flags or the settings name.
  const isProfile = profile === 'build' || profile === 'plan'
  return chosenValues(flags, {}, { ...settings, ...(isProfile && { profile }) })
}

interface ServedPage extends ServedBeside {
  readonly codes: OneTimeCodes
  /** From now on the terminal shows what the page does in this session. */
  follow(sessionId: string): void
}

async function servePage(
  chat: Chat,
  { flags, io, notify }: { readonly flags: RunValues; readonly io: Io; notify(text: string): void },
): Promise<ServedPage> {
  let { settings } = chat.state
  const keep = (): void => {
    // An attached chat does not know the mode and the profile.
    if (!chat.state.isAttached) settings = chat.state.settings
  }
  const unsubscribe = chat.subscribe(keep)
  const following = followWhenIdle(chat)
  const stop = (): void => {
    unsubscribe()
    following.stop()
  }
  try {
    const [{ serveBeside }, { OneTimeCodes }, { createWebPage }] = await Promise.all([
      import('../serve/serve.ts'),
      import('../serve/one-time-codes.ts'),
      import('../../web/create-web-page.ts'),
    ])
    const codes = new OneTimeCodes()
    const { folder: cwd = io.cwd } = settings
    const options = { values: () => servedValues(flags, settings), io, cwd, notify }
    const beside = await serveBeside((server) => codes.loggingIn(createWebPage({ server }).fetch), options)
    return {
      ...{ ...beside, codes, follow: following.follow },
      close() {
        stop()
        return beside.close()
      },
    }
  } catch (error) {
    stop()
    throw error
  }
}

/** How long a chat is idle before it is attached: a message that was just typed begins its run first. */
const idleMs = 200

/** Attaches the chat to a session whenever it is idle: a chat that is attached follows the session wherever it runs. */
function followWhenIdle(chat: Chat): { follow(sessionId: string): void; stop(): void } {
  let followed: string | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  // A run to continue and messages that wait are this chat's; an attached one would not show them.
  const isDue = ({ isAttached, isResumable, phase, queue, sessionId }: Chat['state']): boolean =>
    sessionId === followed && phase === 'idle' && !isAttached && !isResumable && queue.length === 0
  const look = (): void => {
    clearTimeout(timer)
    if (!isDue(chat.state)) return
    timer = setTimeout(() => {
      if (!isDue(chat.state)) return
      const id = followed!
      followed = undefined
      chat.open({ attach: id }).then(
        () => {
          followed ??= id
        },
        () => {}, // the chat tells why; the next /web tries again
      )
    }, idleMs)
  }
  const unsubscribe = chat.subscribe(look)
  return {
    follow(sessionId) {
      followed = sessionId
      look()
    },
    stop() {
      clearTimeout(timer)
      unsubscribe()
    },
  }
}
