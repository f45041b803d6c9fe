// The interactive terminal with a scripted model, as a separate process: argv[2] names the script.
import { createAgent, createMemoryStore, createProcessContext, createSession, loadSession } from 'libero'
import { createAuthority } from 'libero/authority'
import { codingTools } from 'libero/presets'
import { runTui } from '../../src/tui/index.ts'
import { providerOf } from './scripts.ts'

const store = createMemoryStore()
process.exitCode = await runTui({
  host: { store },
  cwd: process.cwd(),
  ...(process.env.TUI_FOLDER !== undefined && { folder: process.env.TUI_FOLDER }),
  ...(process.env.TUI_PLAIN !== undefined && { plain: true }),
  ...JSON.parse(process.env.TUI_OPTIONS ?? '{}'),
  async agentFor({ interactor, settings, fork }) {
    const mode = settings.mode ?? 'ask'
    const authority = createAuthority({ mode, interactors: [interactor] })
    const provider = providerOf(process.argv[2] ?? 'hello')
    const agent = createAgent({
      provider,
      tools: codingTools,
      authority,
      execution: createProcessContext({ cwd: process.cwd(), sandbox: 'off' }),
      session: fork ? await (await loadSession(store, fork.id)).fork(fork.at) : await createSession({ store }),
    })
    const model = { provider: 'scripted', model: 'script-1', contextWindow: 200_000 }
    return {
      agent,
      authority,
      settings: { model, mode, folder: process.cwd() },
      close: async () => {
        await agent.destroy()
        await authority.close()
      },
    }
  },
})
