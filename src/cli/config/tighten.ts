import { isDeepStrictEqual } from 'node:util'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { Config, ConfiguredHooks } from './config.ts'

/** The default limit on the model calls of a run; the library itself has none. */
export const defaultTurns = 100

/** A config and the file it comes from. */
export interface ConfigFile {
  readonly path: string
  readonly config: Config
}

interface Tightened {
  readonly config: Config
  readonly origins: Readonly<Partial<Record<keyof Config, string>>>
  readonly warnings: readonly string[]
}

/** The user's config with the stricter settings of a project. Rules are not included: they are merged by layer. */
export function tighten(user: ConfigFile | undefined, project: ConfigFile | undefined): Tightened {
  const config: Record<string, unknown> = { ...user?.config }
  const origins: Partial<Record<keyof Config, string>> = {}
  for (const key of Object.keys(config) as (keyof Config)[]) origins[key] = user!.path
  const warnings: string[] = []
  for (const [name, value] of Object.entries(project?.config ?? {})) {
    const key = name as keyof Config
    if (isDeepStrictEqual(value, config[key]) || key in rules) continue
    const verdict = merges[key]?.(user?.config[key], value) ?? { why: refused[key] ?? 'only you can choose it' }
    if ('why' in verdict) {
      warnings.push(
        `${fullyVisible(project!.path)}: ${key} was left out: ${verdict.why}; if you want it, set it in your own config.json`,
      )
    } else if (!isDeepStrictEqual(verdict.value, config[key] ?? defaults[key])) {
      origins[key] = Array.isArray(value) && origins[key] ? `${origins[key]} and ${project!.path}` : project!.path
      config[key] = verdict.value
    }
  }
  return { config, origins, warnings }
}

const rules: Partial<Record<keyof Config, true>> = { mode: true, allow: true, ask: true, deny: true }
const defaults: Config = { profile: 'build', sandbox: 'auto', maxTurns: defaultTurns, withoutTools: [] }

type Verdict = { readonly value: unknown } | { readonly why: string }
type Merge = (own: unknown, wanted: unknown) => Verdict

const loosens = { why: 'a project can only make things stricter' }

const merges: Partial<Record<keyof Config, Merge>> = {
  profile: (own, wanted) => (wanted === 'plan' || own !== 'plan' ? { value: wanted } : loosens),
  sandbox: (own = 'auto', wanted) =>
    sandboxes.indexOf(wanted) >= sandboxes.indexOf(own) ? { value: wanted } : loosens,
  maxTurns: (own = defaultTurns, wanted) => smaller(own, wanted),
  maxCost: smaller,
  hooks: (own, wanted) => ({ value: joinHooks(own as ConfiguredHooks, wanted as ConfiguredHooks) }),
  withoutTools: (own = [], wanted) => ({ value: [...new Set([...(own as string[]), ...(wanted as string[])])] }),
}

/** A project adds its hooks to the user's: a hook can block, and allows nothing. */
function joinHooks(own: ConfiguredHooks = {}, added: ConfiguredHooks): ConfiguredHooks {
  const moments = [...new Set([...Object.keys(own), ...Object.keys(added)])] as (keyof ConfiguredHooks)[]
  return Object.fromEntries(moments.map((moment) => [moment, [...(own[moment] ?? []), ...(added[moment] ?? [])]]))
}

/** From loose to strict. */
const sandboxes: readonly unknown[] = ['off', 'auto', 'required'] satisfies Config['sandbox'][]

function smaller(own: unknown, wanted: unknown): Verdict {
  return own === undefined || (wanted as number) <= (own as number) ? { value: wanted } : loosens
}

const trafficReason = 'a project must not choose where your files and keys are sent'
const folderReason = 'a project must not choose where its commands run'

/** Why a project cannot set these. */
const refused: Partial<Record<keyof Config, string>> = {
  provider: trafficReason,
  providers: trafficReason,
  model: 'a project must not choose what you pay for',
  thinking: 'a project must not choose what you pay for',
  system: 'a project must not replace your instructions (its own belong in AGENTS.md)',
  preset: 'a project must not choose your tools (withoutTools leaves some out)',
  context: folderReason,
  sandboxPaths: 'a project must not choose what its commands reach (deny hides more of it)',
  image: folderReason,
  mcpServers: 'a project configures its servers in .mcp.json, where you are asked about each',
  toolDisclosure: 'a project must not choose what the model is shown',
  claudeSkills: 'a project must not choose your skills',
  claudeFiles: 'a project must not choose your sub-agents and commands',
  wikis: 'a project must not choose what your agents read and write',
  agents: 'a project must not choose what your agents may do',
  audit: 'a project must not choose what is recorded',
  sessions: 'a project must not choose where your sessions are stored',
  retention: 'a project must not choose what of yours is deleted',
  snapshots: 'a project must not choose which of your files can be restored',
}
