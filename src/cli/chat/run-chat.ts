import { version } from '../../core/version.ts'
import { processEvents } from '../../tui/process-events.ts'
import { runTui } from '../../tui/run-tui.ts'
import type { RunValues } from '../commands/run.ts'
import type { Io } from '../io.ts'
import { readImages } from '../run/flag-files.ts'
import { findSession } from '../sessions/find-session.ts'
import type { OpenSessionOptions } from '../sessions/open-session.ts'
import { programName } from '../text.ts'
import { createCliHost } from './cli-host.ts'
import type { WebOfChat } from './web-command.ts'

/** The interactive terminal of the command line. */
export async function runChat(
  values: RunValues,
  { io, cwd, attach }: { readonly io: Io; readonly cwd: string; readonly attach?: string },
): Promise<number> {
  const { openAgent, first, terminal, close, ...host } = await createCliHost(values, {
    io,
    cwd,
    pick: pickWith(values, { io, cwd }),
  })
  let web: WebOfChat | undefined
  try {
    return await runTui({
      agentFor: openAgent,
      host,
      open: attach === undefined || !host.store ? first : { attach: await findSession(host.store, attach) },
      ...terminal,
      folder: io.home,
      cwd,
      streams: io,
      events: { ...processEvents, onSignal: io.onSignal, onCrash: io.onCrash },
      farewell: ({ view, sessionId }) =>
        sessionId === undefined || view.head === 0 ? undefined : `continue with: ${programName(io)} --continue`,
      firstParts: await readImages(values, cwd),
      ...(values.plain && { plain: true }),
      ...(values.plain || first.resume !== undefined || attach !== undefined
        ? {}
        : { welcome: welcome(io.stdout.columns ?? 80) }),
      async commands() {
        const [{ loadCommands }, { createWebOfChat }] = await Promise.all([
          import('../chat-commands/load-commands.ts'),
          import('./web-command.ts'),
        ])
        web ??= createWebOfChat(values, io)
        return web.withWeb((await loadCommands(io, cwd)).commands)
      },
    })
  } finally {
    await web?.close()
    await close()
  }
}

/** What one can do, for an empty screen. A narrow one has no room for explanations. */
function welcome(columns: number): readonly string[] {
  const lines = examples.map(([what, means]) => (columns < 80 ? `  ${what}` : `  ${what.padEnd(35)}${means}`))
  return [`libero ${version}`, '', ...lines]
}

const examples = [
  ['find the failing test and fix it', 'type a task'],
  ['/model  /login', 'choose a model, log in to a service'],
  ['libero demo', 'watch it fix a failing test'],
] as const

/** Lets the person choose a session before the first one is opened: by number in plain mode. */
function pickWith(
  values: RunValues,
  at: { readonly io: Io; readonly cwd: string },
): NonNullable<OpenSessionOptions['pick']> {
  return async (sessions, store) => {
    const { pickByNumber, pickInViewer } = await import('./pick-session.ts')
    return await (values.plain ? pickByNumber(at) : pickInViewer(at))(sessions, store)
  }
}
