import { existsSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Note } from './evidence.ts'

/**
 * The file in which all workers of a trial record their observations: the order of its lines is the order of events. Not synced:
 * the kernel keeps what a killed process wrote.
 */
export function openLedger(folder: string): (note: Note) => void {
  const file = openSync(join(folder, 'ledger.jsonl'), 'a')
  return (note) => void writeSync(file, `${JSON.stringify(note)}\n`)
}

export function readLedger(folder: string): Note[] {
  const path = join(folder, 'ledger.jsonl')
  if (!existsSync(path)) return []
  const lines = readFileSync(path, 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Note)
}

/** Performs the effect of a key, unless it was done: one file per key, which can be created only once. */
export function takeEffect(folder: string, key: string): boolean {
  try {
    openSync(join(folder, 'effects', encodeURIComponent(key)), 'wx')
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

export function readEffects(folder: string): Set<string> {
  return new Set(readdirSync(join(folder, 'effects')).map(decodeURIComponent))
}
