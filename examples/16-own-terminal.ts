// Your own agent in the interactive terminal: a session, tools, and approvals in dialogs. In a pipe it reads lines.
import { createAgent, createMemoryStore, createProcessContext, createSession } from 'libero'
import { createAuthority } from 'libero/authority'
import { codingTools } from 'libero/presets'
import { call, scripted } from 'libero/testing'
import { runTui } from 'libero/tui'

const store = createMemoryStore()
process.exitCode = await runTui({
  plain: !process.stdout.isTTY,
  host: { store },
  async agentFor({ interactor, settings, resume }) {
    const mode = settings.mode ?? 'ask'
    const authority = createAuthority({ mode, interactors: [interactor] })
    const agent = createAgent({
      provider: scripted([call('1', 'list_files', { path: '.' })], 'These are the files here.'),
      tools: codingTools,
      authority,
      execution: createProcessContext(),
      session: await createSession({ store, ...(resume !== undefined && { id: resume }) }),
    })
    const model = { provider: 'scripted', model: 'script-1' }
    return { agent, authority, settings: { model, mode, folder: process.cwd() }, close: () => agent.destroy() }
  },
})
