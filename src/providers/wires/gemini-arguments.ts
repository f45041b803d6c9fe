import { setOwn } from '../../core/turn.ts'

export type Args = Record<string | number, unknown>

/** What arrived of one argument; `jsonPath` says where it belongs. */
export interface Piece {
  readonly jsonPath?: string
  readonly stringValue?: string
  readonly numberValue?: number
  readonly boolValue?: boolean
  readonly nullValue?: unknown
  readonly willContinue?: boolean
}

/** Puts a piece of an argument in its place. A text grows; what has no value is empty, or ended before. */
export function addPiece(args: Args, piece: Piece): void {
  const { jsonPath = '', stringValue, numberValue, boolValue, willContinue } = piece
  const steps = [...jsonPath.matchAll(step)].map(([, name, index, quoted]) =>
    index === undefined ? (name ?? unquoted(quoted!)) : Number(index),
  )
  const last = steps.pop()
  if (last === undefined) return
  let place: unknown = args
  for (const [i, key] of steps.entries()) place = inside(place, key, typeof (steps[i + 1] ?? last) === 'number')
  const old = at(place, last)
  const value = stringValue ?? numberValue ?? boolValue ?? ('nullValue' in piece ? null : undefined)
  if (typeof value === 'string') put(place, last, typeof old === 'string' ? old + value : value)
  else if (value !== undefined) put(place, last, value)
  else if (old === undefined && !willContinue) put(place, last, jsonPath.endsWith('[]') ? [] : {})
}

/** `.name`, `[0]`, `['name']`; an array ends with `[]`, which leads nowhere. */
const step = /\.([^.[\]]+)|\[(\d+)\]|\[('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\]/g
const unquoted = (text: string): string => text.slice(1, -1).replaceAll(/\\(.)/g, '$1')

function inside(place: unknown, key: string | number, isList: boolean): unknown {
  if (at(place, key) === undefined) put(place, key, isList ? [] : {})
  return at(place, key)
}

function at(place: unknown, key: string | number): unknown {
  return typeof place === 'object' && place !== null && Object.hasOwn(place, key) ? (place as Args)[key] : undefined
}

/** Lists grow one by one: a number out of thin air must not make one of a billion holes. */
function put(place: unknown, key: string | number, value: unknown): void {
  if (typeof place !== 'object' || place === null) return
  if (Array.isArray(place) && !(Number(key) <= place.length)) return
  setOwn(place as Args, String(key), value)
}
