import { type CommandFacts, factsOf, type JudgedCall } from './judged-call.ts'

/** What a grant for more than one line may cover: one program, with its verb, inside the workspace. */
interface GrantKind {
  /** `touch (any)`, `git commit (any)`. Never equal to the key of a line, in which `(` is quoted. */
  readonly key: string
  /** For the person: "every `touch` in this project". */
  readonly words: string
}

/**
 * The kind of a line: given only if each of its commands is of this one kind, and no file outside the workspace and no other
 * machine is reached. A call whose kind has the key of a grant is covered; there is no other comparison.
 */
export function grantKindOf(call: Pick<JudgedCall, 'effects' | 'shell'>): GrantKind | undefined {
  const { shell } = call
  if (!shell?.isWhole || shell.obstacles.length > 0) return undefined
  if (factsOf(call).some(({ effect, isOutside }) => effect === 'net' || (isOutside && effect.startsWith('fs.'))))
    return undefined
  const asked = shell.commands.filter(isAsked)
  const kind = asked[0]?.kind
  if (kind === undefined || asked.some((command) => command.kind !== kind)) return undefined
  const words = `every \`${kind}\` in this project`
  const onlyReads = asked.every(({ isReadOnly }) => isReadOnly)
  return { key: `${kind} (any)`, words: onlyReads ? `${words} that only reads` : words }
}

/** A neutral command is asked about too if it writes: `true > src/app.js` empties the file. */
const isAsked = ({ table, effects }: CommandFacts): boolean =>
  table !== 'neutral' || effects.some(({ effect }) => effect === 'fs.write')
