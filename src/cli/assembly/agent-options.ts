import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Authority, createAuthority } from '../../authority/authority.ts'
import { CodedError, messageOf } from '../../core/errors.ts'
import type { Extension } from '../../core/run.ts'
import type { JsonSchema, ToolDef } from '../../core/tool.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { AgentOptions } from '../../presets/preset.ts'
import { realFolder } from '../sessions/session-folder.ts'
import type { Assembly } from './assemble.ts'
import { limitsOf } from './limits.ts'
import { loadPreset } from './preset-of.ts'
import { ruleTypos } from './rule-typos.ts'
import { systemPrompt } from './system-prompt.ts'

/** What one command says beside what all commands have in common. */
export interface OwnOptions {
  readonly maxTurns?: string | undefined
  readonly maxCost?: string | undefined
  readonly schema?: JsonSchema
  /** In place of the usual system prompt. */
  readonly prompt?: string | undefined
  /** Added to the system prompt. */
  readonly system?: string | undefined
  /** In place of the preset's tools of the same names. */
  readonly tools?: Readonly<Record<string, ToolDef>>
  readonly toolAliases?: Readonly<Record<string, string>>
  /** Whether tools in files of the user and the project are left out. */
  readonly withoutFiles?: boolean
  readonly extensions?: readonly Extension[]
}

/** One agent, but for its model and its session. */
export interface AssembledAgent {
  readonly options: Omit<AgentOptions, 'provider' | 'session'>
  readonly authority: Authority
  /** For a person, before it starts. */
  readonly notices: readonly string[]
  close(): Promise<void>
}

/** What `createAgent` is given for one agent that works in a folder. */
export async function agentOptions(assembly: Assembly, own: OwnOptions): Promise<AssembledAgent> {
  const { workspace, config, execution, skills, servers } = assembly
  const { cwd, project, loaded } = workspace
  const preset = await loadPreset(assembly.preset)
  const authority = createAuthority(assembly.authority)
  const usual = systemPrompt(cwd, project.instructions, joined(preset.system, config.system))
  const known = Object.values(preset.tools ?? {}).map(({ spec }) => spec.name)
  return {
    options: {
      ...(preset.name !== undefined && { name: preset.name }),
      system: joined(own.prompt ?? usual, own.system) ?? '',
      tools: toolsOf(own.tools ?? preset.tools ?? {}, { known, own, config: config.withoutTools }),
      ...(own.toolAliases && { toolAliases: own.toolAliases }),
      behavior: {
        ...preset.behavior,
        ...limitsOf({ maxTurns: numberOf(own.maxTurns), maxCost: numberOf(own.maxCost) }, config),
        compactStrategy: 'summary',
        ...(config.toolDisclosure && { toolDisclosure: config.toolDisclosure }),
        ...(own.schema && { schema: own.schema }),
      },
      execution,
      authority,
      ...(skills && { skills }),
      ...servers?.options,
      hooks: { 'hook:error': ({ hook, error }) => tellFailure(assembly, hook, error) },
      extensions: [...(own.extensions ?? []), ...(own.withoutFiles ? [] : await toolsInFiles(assembly, authority))],
    },
    authority,
    notices: [
      ...loaded.warnings,
      ...authority.warnings,
      ...ruleTypos(rulesIn(assembly), known),
      ...aboutProject(assembly),
      ...(servers?.notices ?? []),
    ],
    async close() {
      project.dispose()
      await authority.close()
    },
  }
}

const joined = (...texts: (string | undefined)[]): string | undefined =>
  texts.filter((text) => text !== undefined && text !== '').join('\n\n') || undefined

const numberOf = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text))

/** Those that the preset has, without those that a setting leaves out by the name of either side. */
function toolsOf(
  tools: Readonly<Record<string, ToolDef>>,
  { known, own: { toolAliases = {} }, config = [] }: ToolsWish,
): Record<string, ToolDef> {
  const isWanted = (name: string): boolean =>
    known.includes(name) && !config.includes(name) && !config.includes(toolAliases[name] ?? name)
  return Object.fromEntries(Object.entries(tools).filter(([, { spec }]) => isWanted(spec.name)))
}

interface ToolsWish {
  readonly known: readonly string[]
  readonly own: OwnOptions
  readonly config: readonly string[] | undefined
}

function rulesIn({ authority: { allow = [], deny = [] }, config }: Assembly) {
  return [...allow, ...deny, ...(config.allow ?? []), ...(config.ask ?? []), ...(config.deny ?? [])]
}

/** The user's home holds our own folder, and is no project for that. */
function aboutProject({ workspace: { project }, io }: Assembly): string[] {
  const { notice, root } = project
  return notice === undefined || root === realFolder(dirname(io.home)) ? [] : [notice]
}

/** A handler that failed. That the audit cannot be written is said by the audit. */
function tellFailure({ view }: Assembly, hook: string, error: unknown): void {
  if (error instanceof CodedError && error.code === 'AuditWriteFailed') return
  view.failed(`A handler of "${fullyVisible(hook)}" failed: ${fullyVisible(messageOf(error).slice(0, 600))}`)
}

/** None where there is no folder of tools: to look for them is more than to find nothing. */
async function toolsInFiles(
  { workspace, config, io, authority: { audit } }: Assembly,
  { interact }: Authority,
): Promise<Extension[]> {
  const { cwd, project } = workspace
  if (!existsSync(join(io.home, 'tools')) && !existsSync(join(cwd, '.libero', 'tools'))) return []
  const { layeredTools } = await import('../../layers/layered-tools.ts')
  const { mayReadTools: mayReadProject, revoked } = project
  const off = Object.fromEntries((config.withoutTools ?? []).map((name) => [name, { enabled: false }]))
  return [
    layeredTools({
      home: io.home,
      projectRoot: cwd,
      mayReadProject,
      revoked,
      interact,
      config: off,
      ...(audit && { audit }),
    }),
  ]
}
