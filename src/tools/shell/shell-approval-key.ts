import { boundedKey } from '../../platform/digest.ts'
import { tokensOf } from './shell-words.ts'

/**
 * The key of an approval: the program, with its subcommand if it has any, if both are known to run nothing else. Any other
 * command is approved only exactly.
 */
export function shellApprovalKey(command: string, cwd?: string): string {
  const key = kindOf(command) ?? command.trim()
  return boundedKey(cwd === undefined ? key : `${JSON.stringify(cwd)} ${key}`)
}

function kindOf(command: string): string | undefined {
  const words = command.length > maxCommandLength ? undefined : tokensOf(command)
  const [program, ...rest] = words ?? []
  if (!words || !program) return undefined
  if (words.some(({ text, isOperator, code, variable }) => isOperator || code || variable || /[$`]/.test(text)))
    return undefined
  if (plain.has(program.text)) return program.text
  const [verb, ...more] = rest
  if (!verb || !verbs[program.text]?.has(verb.text)) return undefined
  const isKnown = more.every(({ text }) => !text.startsWith('-') || harmless.test(text))
  return isKnown ? `${program.text} ${verb.text}` : undefined
}

const maxCommandLength = 8192

// Known programs. Others may run something else, and are approved only exactly.
const plain =
  setOf(`ls cat head tail wc pwd stat du df which whoami uname echo mkdir rmdir touch cp mv rm ln chmod diff cmp
  cut tr uniq basename dirname realpath readlink sleep true false tsc eslint prettier biome ruff mypy gofmt rustfmt`)
const packages = 'install i add ci ls list outdated audit view why test t'
const verbs: Readonly<Record<string, ReadonlySet<string>>> = {
  git: setOf(`status diff log show add commit push pull fetch checkout switch branch merge stash tag rev-parse ls-files
    blame restore reset rm mv cherry-pick revert remote describe`),
  npm: setOf(packages),
  pnpm: setOf(packages),
  yarn: setOf(packages),
  bun: setOf(packages),
  pip: setOf('install list show freeze'),
  pip3: setOf('install list show freeze'),
  cargo: setOf('build check test fmt clippy'),
  go: setOf('build test vet fmt mod list'),
  docker: setOf('ps images logs inspect pull'),
  kubectl: setOf('get describe logs'),
}
/** Flags that name no program, no file to write and no setting, for all of these subcommands. */
const harmless =
  /^(-[amnqsvDh]|-am|--(message|all|amend|no-edit|quiet|verbose|short|porcelain|oneline|stat|name-only|cached|staged|force|force-with-lease|tags|prune|rebase|ff-only|no-ff|save-dev|release|dry-run|help|version)(=.*)?)$/

function setOf(names: string): ReadonlySet<string> {
  return new Set(names.split(/\s+/))
}
