import { countOf, type EditSample } from './edit-samples.ts'
import type { Random } from './random.ts'

/** How a language writes blocks. */
export interface BlockStyle {
  readonly unit: string
  readonly open: (condition: string) => string
  /** Absent: blocks end where the indentation does. */
  readonly close?: string
  /** A statement that blocks at several depths have. */
  readonly leave: string
}

/** As in JavaScript: lines with a brace alone at every depth. */
export const braceStyle: BlockStyle = {
  unit: '  ',
  open: (condition) => `if (${condition}) {`,
  close: '}',
  leave: 'return null',
}

/** As in Python: no closing lines, but the same statement at several depths. */
export const pythonStyle: BlockStyle = {
  unit: '    ',
  open: (condition) => `if ${condition}:`,
  leave: 'return None',
}

/** An edit of nested blocks that stand at least one level deep, in a small file. */
export function nestedSample(style: BlockStyle, random: Random): EditSample {
  for (;;) {
    const block = nestedBlock(style, random, 1 + random.below(3))
    let lines = [...statement(random), ...block, ...statement(random)]
    for (let depth = 1 + random.below(2); depth > 0; depth--) lines = inBlock(style, name(random), lines)
    const first = random.below(lines.length)
    const at = random.chance(70) ? lines.findIndex((line) => line.trim() === block[0]) : first
    const old = lines.slice(at, at + (random.chance(70) ? block.length : 2 + random.below(6)))
    const isDeep = old.every((line) => line.startsWith(style.unit))
    if (!isDeep || old.join('').replace(/\W/g, '').length < 8 || countOf(lines, old) !== 1) continue
    const fresh = changedBlocks(style, old, random)
    if (!fresh.every((line) => line.startsWith(style.unit)) || fresh.join('\n') === old.join('\n')) continue
    return { lines: ['', ...lines, ''], at: at + 1, old, new: fresh }
  }
}

const names = ['alpha', 'bravo', 'delta', 'gamma', 'kappa', 'omega', 'sigma', 'theta']
const name = (random: Random): string => `${random.pick(names)}${random.below(100)}`
const statement = (random: Random): string[] => [`${name(random)}()`]

function nestedBlock(style: BlockStyle, random: Random, depth: number): string[] {
  const inner = depth === 0 ? [] : nestedBlock(style, random, depth - 1)
  const body = [
    ...(random.chance(50) ? statement(random) : []),
    ...inner,
    ...(random.chance(50) ? statement(random) : []),
    ...(random.chance(60) ? [style.leave] : []),
  ]
  return inBlock(style, name(random), body.length === 0 ? statement(random) : body)
}

function inBlock({ unit, open, close }: BlockStyle, condition: string, body: readonly string[]): string[] {
  return [open(condition), ...body.map((line) => unit + line), ...(close === undefined ? [] : [close])]
}

function changedBlocks(style: BlockStyle, old: readonly string[], random: Random): readonly string[] {
  const { unit } = style
  const line = random.below(old.length)
  const indent = /^\s*/.exec(old[line]!)![0]
  const indented = (lines: readonly string[]): string[] => lines.map((one) => indent + one)
  switch (random.below(7)) {
    case 0:
      return old.with(line, indent + statement(random)[0]!)
    case 1:
      return old.toSpliced(line, 0, ...indented(statement(random)))
    case 2:
      return old.toSpliced(line, random.below(2), ...indented(nestedBlock(style, random, random.below(2))))
    case 3: {
      const wrapped = old.slice(line).filter((one) => one.startsWith(indent))
      const bare = wrapped.map((one) => one.slice(indent.length))
      return old.toSpliced(line, wrapped.length, ...indented(inBlock(style, name(random), bare)))
    }
    case 4: {
      const body = old.slice(line + 1).filter((one) => one.startsWith(indent + unit))
      return old.toSpliced(line, body.length + 1, ...body.map((one) => one.slice(unit.length)))
    }
    case 5:
      return old.map((one) => (/[\w]{4}\d/.test(one) ? one.replace(/\w+\d/, () => name(random)) : one))
    default:
      return old.length > 1 ? old.toSpliced(line, 1) : [...old, ...indented([style.leave])]
  }
}
