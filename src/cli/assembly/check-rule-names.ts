import { effectNames } from '../../authority/rules/rules.ts'
import type { AuthoritySettings } from '../../authority/rules/settings.ts'
import { didYouMean } from '../../core/nearest.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { UsageError } from '../cli-error.ts'

interface NamedRules {
  readonly flags: Pick<AuthoritySettings, 'allow' | 'deny'>
  readonly settings: readonly (AuthoritySettings | undefined)[]
  /** Whether there may be tools in files, whose names are known only when they run. */
  readonly hasToolFiles: boolean
}

/**
 * Refuses a rule of a flag that names neither a tool nor an effect: it would match nothing, and a `deny` protect nothing.
 * Gives notices about those in settings, which other programs may share.
 */
export function checkRuleNames({ flags, settings, hasToolFiles }: NamedRules): string[] {
  if (hasToolFiles) return []
  const [refused] = unknownRules(textsIn(flags))
  if (refused !== undefined) throw new UsageError(`the ${problemOf(refused)}`)
  const inSettings = settings.flatMap((layer) => [...textsIn(layer), ...Object.keys(layer?.tools ?? {})])
  return unknownRules(inSettings).map((rule) => `The ${problemOf(rule)}`)
}

function textsIn({ allow = [], ask = [], deny = [], allowlist = [] }: AuthoritySettings = {}): string[] {
  return [...allow, ...ask, ...deny, ...allowlist].map((rule) => (typeof rule === 'string' ? rule : rule.rule))
}

const unknownRules = (rules: readonly string[]): string[] => [
  ...new Set(rules.filter((rule) => !isKnown(nameIn(rule)))),
]

const nameIn = (rule: string): string => rule.split(':', 1)[0] ?? ''

/** Tools of MCP servers are known only when these are connected. What is no name at all is refused where rules are read. */
const isKnown = (name: string): boolean => known.has(name) || name.startsWith('mcp_') || !/^[\w.-]+$/.test(name)

/** The names of all tools that come with the package, in any preset, plugin or extension. A test keeps it complete. */
export const builtInTools: readonly string[] = [
  'shell shell_output shell_stop read_file write_file edit multi_edit list_files glob grep web_fetch',
  'todoread todowrite ask_user present_plan spawn tool_search skills_use skills_read skills_run_script',
  'summary ask-question web-fetch zx-script spawn-agent manage-todo git-log git-read-file',
  'alarm-clock schedule-task list-schedules update-schedule remove-schedule',
  'wiki-search wiki-backlinks wiki-toc wiki-recent wiki-list-tiddlers wiki-get-errors',
  'wiki-operation edit-tiddler',
].flatMap((names) => names.split(' '))
const known: ReadonlySet<string> = new Set([...builtInTools, ...effectNames])

function problemOf(rule: string): string {
  const name = nameIn(rule)
  const meant = elsewhere[name.toLowerCase()]
  const hint = meant ? `, did you mean "${meant}"?` : didYouMean(name, [...known]) || `; ${forms}`
  return `rule "${fullyVisible(rule).slice(0, 120)}" matches nothing: there is no tool and no effect "${fullyVisible(name).slice(0, 60)}"${hint}`
}

const forms =
  'a rule names a tool (write_file), a command (shell:git status), a file (fs.write:src/*), a host (net:example.org) or a tool of a server (mcp:github.search)'

/** Tools of other programs, and ours for the same. */
const elsewhere: Readonly<Record<string, string>> = {
  bash: 'shell',
  read: 'read_file',
  write: 'write_file',
  multiedit: 'multi_edit',
  webfetch: 'web_fetch',
  websearch: 'net',
  ls: 'list_files',
  task: 'spawn',
}
