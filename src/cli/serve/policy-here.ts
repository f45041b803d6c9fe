import { type Explanation, explainCall, explainLine } from '../../authority/rules/explain.ts'
import { resolveSettings } from '../../authority/rules/settings.ts'
import { messageOf } from '../../core/errors.ts'
import { type ToolDef, wholeTool } from '../../core/tool.ts'
import { createProcessContext } from '../../execution/process.ts'
import type { FileLocation } from '../../platform/files-of.ts'
import { Problem } from '../../server/problem.ts'
import type { PolicyCase, ServerAbout } from '../../server/server-options.ts'
import { type ReadLine, withReader } from '../../shell/shell-reader.ts'
import type { RunValues } from '../commands/run.ts'
import type { Io } from '../io.ts'
import { placeOf, type RulesHere, rulesHere } from '../policy/explain-here.ts'
import { programTools } from '../tools/list-tools.ts'

type Explained = Explanation & { readonly where?: string; readonly key: string }

/** What the rules of this machine say, for clients: they count as for an agent with these flags. */
export function policyHere(flags: RunValues, io: Io): Required<Pick<ServerAbout, 'explain' | 'testPolicy' | 'rules'>> {
  const launch = launchOf(flags)

  /** Explains calls with one reader of shell lines and one look at the sandbox. */
  async function explaining<T>(
    here: RulesHere,
    work: (explain: (call: PolicyCase) => Promise<Explained>) => Promise<T>,
  ): Promise<T> {
    const tools = await programTools(flags, here.config)
    const context = createProcessContext({ cwd: io.cwd })
    const files = { execution: context, handle: await context.spawn() }
    try {
      return await withReader((read) => work((call) => explained(call, { here, tools, files, read })))
    } finally {
      await context.destroy(files.handle)
    }
  }

  return {
    explain: async (call) => explaining(await rulesHere(io, launch), (explain) => explain(call)),
    async testPolicy({ rules, cases }, _, signal) {
      const here = await rulesHere(io, rules ? { rules } : launch)
      return explaining(here, async (explain) => {
        const results: object[] = []
        let [passed, failed] = [0, 0]
        for (const { expect, ...call } of cases) {
          signal.throwIfAborted()
          const result = await explain(call).catch((error: unknown) => ({ problem: messageOf(error) }))
          const isRight = 'verdict' in result && (expect === undefined || result.verdict === expect)
          if (isRight) passed++
          else failed++
          results.push({ ...result, ...(expect && { expect }), passed: isRight })
        }
        return { results, passed, failed }
      })
    },
    async rules() {
      const { layers, sandbox } = await rulesHere(io, launch)
      const { mode, lists, tools, workspaceReads, warnings } = resolveSettings(layers, { home: io.userHome })
      const rules = Object.entries(lists).flatMap(([list, all]) =>
        all.map(({ text, layer, why }) => ({ list, rule: text, layer, ...(why !== undefined && { why }) })),
      )
      return { mode, rules, tools, workspaceReads, sandbox, warnings }
    },
  }
}

interface ExplainingParts {
  readonly here: RulesHere
  readonly tools: readonly ToolDef[]
  readonly files: FileLocation
  readonly read: ReadLine
}

async function explained({ tool: name, input, mode }: PolicyCase, parts: ExplainingParts): Promise<Explained> {
  const { here, tools, files, read } = parts
  const layers = mode ? { ...here.layers, launch: { ...here.layers.launch, mode } } : here.layers
  const rules = { ...here, layers, files }
  const { command } = input
  const isLine = name === 'shell' && typeof command === 'string'
  const explanation: Omit<Explained, 'where'> = isLine
    ? { ...(await explainLine(command, rules, read)), key: command }
    : await explainCall({ tool: await toolOf(name, tools), input }, rules, read)
  const runsCommands = explanation.verdict !== 'deny' && explanation.effects.includes('exec')
  return { ...explanation, ...(runsCommands && { where: placeOf(explanation.confinement, here.sandbox) }) }
}

/** A tool of the preset, or as `mcp:server.tool` one of a server, which need not be there. */
async function toolOf(name: string, tools: readonly ToolDef[]): Promise<ToolDef> {
  const known = tools.find(({ spec }) => spec.name === name)
  if (known) return wholeTool(known)
  const [, server, tool] = /^mcp:([^.]+)\.(.+)$/s.exec(name) ?? []
  if (server !== undefined && tool !== undefined)
    return { spec: { name, description: '', inputSchema: {} }, mcp: { server, tool }, execute: () => '' }
  const names = tools.map(({ spec }) => spec.name).join(', ')
  throw new Problem(
    422,
    'not_explained',
    `There is no tool ${JSON.stringify(name.slice(0, 60))} of this program; there are ${names}, and mcp:server.tool for those of servers`,
  )
}

/** What the flags say about decisions, as for an agent. */
function launchOf({ yolo, mode, profile, preset = profile, allow, deny }: RunValues) {
  const launch = yolo ? 'yolo' : (mode ?? (preset === 'plan' ? preset : undefined))
  return { ...(launch && { mode: launch }), ...(allow && { allow }), ...(deny && { deny }) }
}
