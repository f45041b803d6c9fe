import type { Session } from '../../core/store.ts'
import type { AgentForRequest } from '../../server/session-work.ts'
import type { SessionWorkspace } from '../../server/session-workspace.ts'
import { createSnapshots } from '../../snapshots/snapshots.ts'
import { agentOptions } from '../assembly/agent-options.ts'
import { assemble } from '../assembly/assemble.ts'
import { snapshotOptions } from '../assembly/snapshot-options.ts'
import { findDecision } from '../audit/find-decision.ts'
import { listChoices } from '../chat/cli-host.ts'
import { chosenValues, settingsOf } from '../chat/open-chat-agent.ts'
import { linesView } from '../mcp/servers.ts'
import { type ChosenModel, NoModelError } from '../models/choose-model.ts'
import { chooseRunModel } from '../run/open-agent.ts'
import { asProblem } from './about-here.ts'
import { folderOf, type ServedSessionOptions } from './served-session.ts'

/** The folder of a session with the rules, snapshots and commands that its agent would have. Starts no server and no sandbox. */
export async function servedWorkspace(
  { summary, settings }: AgentForRequest,
  { values: flags, io, cwd: begunIn, notify }: ServedSessionOptions,
): Promise<SessionWorkspace> {
  const cwd = await folderOf(summary, begunIn)
  const values = chosenValues(flags, {}, settings)
  const assembly = await assemble(values, { command: 'serve', io, cwd, view: linesView(notify), isIdle: true })
  const { authority, close: closeAssembled } = await agentOptions(assembly, {})
  const { config, execution, thinking } = assembly
  // What earlier runs kept is there even if the settings turn snapshots off now.
  const snapshots = createSnapshots({ ...snapshotOptions(config, assembly), execution })

  /** Undefined if none is set up: a page works without. */
  const modelOf = (session: Session): Promise<ChosenModel | undefined> =>
    asProblem(() =>
      chooseRunModel(values, { session, config, io, mayGoOffline: undefined })
        .then(({ chosen }) => chosen)
        .catch((error: unknown) => {
          if (error instanceof NoModelError) return undefined
          throw error
        }),
    )

  return {
    ...{ execution, authority, snapshots },
    profiles: ['build', 'plan'],
    async settings(session) {
      const chosen = await modelOf(session)
      const { thinking: level = thinking } = settings
      if (chosen) return settingsOf(values, { chosen, thinking: level, authority, config }, cwd)
      return { ...(level && { thinking: level }), profile: assembly.preset, mode: authority.mode, folder: cwd }
    },
    findDecision: findDecision(io),
    models: () => asProblem(() => listChoices(config, io)),
    async commands() {
      const { loadMessageCommands } = await import('../chat-commands/load-commands.ts')
      return (await asProblem(() => loadMessageCommands(io, cwd))).commands
    },
    costOf: async (session) => (await modelOf(session))?.provider.costOf,
    async close() {
      await Promise.all([snapshots.close(), closeAssembled()])
    },
  }
}
