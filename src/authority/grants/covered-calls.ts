import { posix } from 'node:path'
import { digestOfJson } from '../../platform/canonical-json.ts'
import { boundedKey } from '../../platform/digest.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { grantKindOf } from '../grant-kind.ts'
import { type EffectFact, factsOf, type JudgedCall } from '../judged-call.ts'

/** The calls of a tool that an approval of one call can cover, all in one project. */
export interface CoveredCalls {
  /** Another call is covered if it has the same key; there is no other comparison. */
  readonly key: string
  /** For the person, such as "every `touch` in this project". */
  readonly words: string
}

/** The calls that an approval of this call can cover. Pure. */
export function coveredCalls(call: JudgedCall): CoveredCalls {
  if (call.shell) return grantKindOf(call) ?? sameLine(call)
  return everyServerCall(call) ?? sameFolders(call) ?? sameKey(call)
}

/** The same line, as far as it reaches the same files outside of the workspace and the same hosts: links may change. */
function sameLine(call: JudgedCall): CoveredCalls {
  // A key that is a digest of the text says nothing about the directory.
  const line = call.key.startsWith('sha256:') ? `(call) ${call.digest}` : call.key
  const reached = factsOf(call).filter(({ effect, isOutside }) => isOutside || effect === 'net')
  const targets = [...new Set(reached.map(({ effect, target = '?' }) => `${effect} ${target}`))].sort()
  const text = typeof call.input.command === 'string' ? call.input.command : call.key
  return {
    // In the key of a line `(` is quoted, so no other line has this one.
    key: boundedKey(targets.length === 0 ? line : `${line} (reaches ${digestOfJson(targets)})`),
    words: `exactly ${quoted(text)} in this project`,
  }
}

function everyServerCall({ tool, origin, effects }: JudgedCall): CoveredCalls | undefined {
  if (origin.layer !== 'mcp') return undefined
  const server = origin.path ?? ''
  const own = effects.find(({ effect }) => effect.startsWith(`mcp:${server}.`))
  const name = own?.effect.slice(`mcp:${server}.`.length) ?? tool
  return { key: '(any)', words: `every call of ${shown(name)} of the server ${shown(server)} in this project` }
}

/** For tools that only read or write files they name: the folders of these files, where links lead too. */
function sameFolders({ tool, effects }: JudgedCall): CoveredCalls | undefined {
  const isFileTool = effects.length > 0 && effects.every(({ effect, target }) => /^fs\./.test(effect) && target)
  if (!isFileTool) return undefined
  const folders = new Map(effects.map((fact) => [folderOf(fact).join(' '), folderOf(fact)]))
  const sorted = [...folders.values()].sort(([one], [other]) => (one < other ? -1 : 1))
  return {
    key: boundedKey(`in ${JSON.stringify(sorted)}`),
    words: `${shown(tool)} in ${sorted.map(folderWords).join(' and in ')}`,
  }
}

type Folder = readonly [path: string, depth: 'flat' | 'deep']

const folderOf = ({ target = '.', isDeep }: EffectFact): Folder =>
  isDeep ? [target, 'deep'] : [posix.dirname(target), 'flat']

function folderWords([path, depth]: Folder): string {
  const below = depth === 'deep' ? 'and all folders below it' : 'not in folders below it'
  if (path === '.') return `the top folder of this project (${below})`
  return posix.isAbsolute(path)
    ? `${shown(path)}, outside of this project (${below})`
    : `${shown(path)} of this project (${below})`
}

function sameKey({ tool, key, input }: JudgedCall): CoveredCalls {
  const name = shown(tool)
  if (key === tool) return { key, words: `every call of ${name} in this project` }
  if (key === `sha256:${digestOfJson(input)}`)
    return { key, words: `${name} with exactly these arguments in this project` }
  return { key, words: `every call of ${name} for ${quoted(key)} in this project` }
}

const shown = (text: string): string => fullyVisible(text).slice(0, longest)

function quoted(text: string): string {
  const line = fullyVisible(text.trim())
  return line.length > longest ? `what begins with \`${line.slice(0, longest)}\`` : `\`${line}\``
}

/** Longer words would not be read; the prompt shows all of the call. */
const longest = 80
