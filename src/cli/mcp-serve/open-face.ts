import { version } from '../../core/version.ts'
import { createMcpFace, type McpFace } from '../../mcp/serve/face.ts'
import type { MakeAgent } from '../../mcp/serve/seat.ts'
import { visibleText } from '../../platform/visible-text.ts'
import type { McpServeValues } from '../commands/mcp-serve.ts'
import type { RunValues } from '../commands/run.ts'
import type { Io } from '../io.ts'
import { resolveCwd } from '../run/flag-files.ts'
import { openAgent } from '../run/open-agent.ts'

/** The face of the agent that flags and settings ask for. What is wrong with them is thrown here, before a client comes. */
export async function openFace(values: McpServeValues, io: Io): Promise<McpFace> {
  const cwd = await resolveCwd(values.cwd, io)
  const said = new Set<string>()
  const say = (text: string): void => {
    if (said.has(text) || said.size >= mostSaid) return
    said.add(text)
    io.err(`libero: ${visibleText(text)}`)
  }
  // Tools are lent without a model.
  const noModel = values['tools-only'] ? { mayGoOffline: async () => true } : {}
  const make: MakeAgent = async ({ interactors: [person] }) => {
    const opened = await openAgent(runValuesOf(values), {
      command: 'mcp-serve',
      io,
      cwd,
      ...noModel,
      ...(person && { person }),
    })
    for (const notice of opened.notices) say(notice)
    const { agent, thinking, chosen, close } = opened
    return { agent, run: { model: chosen.model, ...(thinking !== undefined && { thinking }) }, close }
  }
  const tried = await make({ interactors: [] })
  if ('close' in tried) await tried.close()
  return createMcpFace({
    name: 'libero',
    version,
    agent: make,
    expose: { agent: !values['tools-only'], tools: !values['agent-only'] },
    onError: say,
  })
}

/** Conversations last as long as the server: whoever wants to keep one runs `libero run`. */
function runValuesOf(values: McpServeValues): RunValues {
  const { http: _, host: __, 'allowed-host': ___, 'tools-only': ____, 'agent-only': _____, ...run } = values
  return { ...run, 'no-session': true }
}

/** A client that errs for ever must not fill a log. */
const mostSaid = 200
