import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { createFileMcpMemory } from './memory.ts'

let path: string
beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'libero-memory-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  path = join(folder, 'mcp', 'memory.json')
})

const legacy = { era: { kind: 'legacy', at: 1 }, tools: { echo: 'digest' } } as const

test('processes share the file, and only its owner can read it', async () => {
  expect(await createFileMcpMemory(path).get('fs:1')).toBeUndefined()
  await createFileMcpMemory(path).set('fs:1', legacy)
  expect(await createFileMcpMemory(path).get('fs:1')).toEqual(legacy)
  expect(await createFileMcpMemory(path).get('toString')).toBeUndefined()
  expect(statSync(path).mode & 0o077).toBe(0)
})

test('concurrent writers do not lose each other’s entries', async () => {
  const keys = Array.from({ length: 12 }, (_, i) => `s${i}:x`)
  await Promise.all(keys.map((key) => createFileMcpMemory(path).set(key, legacy)))
  expect(Object.keys(JSON.parse(readFileSync(path, 'utf8'))).sort()).toEqual(keys.sort())
})

test('an unreadable file counts as empty and is not changed', async () => {
  const memory = createFileMcpMemory(path)
  await memory.set('fs:1', legacy)
  writeFileSync(path, '{"fs:1": tru')
  expect(await memory.get('fs:1')).toBeUndefined()
  await memory.set('fs:2', legacy)
  expect(readFileSync(path, 'utf8')).toBe('{"fs:1": tru')
})

test('a failure to write is ignored', async () => {
  const memory = createFileMcpMemory(join(path, 'x'))
  await createFileMcpMemory(path).set('fs:1', legacy)
  await memory.set('fs:1', legacy) // its folder is a file
  expect(await memory.get('fs:1')).toBeUndefined()
})

test('of an entry edited by hand only the valid parts are used', async () => {
  const memory = createFileMcpMemory(path)
  await memory.set('a', legacy)
  writeFileSync(path, JSON.stringify({ a: { era: { kind: 'new' }, tools: { x: 5 } }, b: 7, c: { ...legacy, more: 1 } }))
  expect([await memory.get('a'), await memory.get('b'), await memory.get('c')]).toEqual([{}, undefined, legacy])
})

test('its size is bounded: the oldest entry is dropped', async () => {
  const memory = createFileMcpMemory(path)
  await memory.set('first', legacy)
  writeFileSync(path, JSON.stringify(Object.fromEntries(Array.from({ length: 600 }, (_, i) => [`s${i}`, legacy]))))
  await memory.set('s0', { tools: {} })
  const keys = Object.keys(JSON.parse(readFileSync(path, 'utf8')))
  expect(keys).toHaveLength(500)
  expect(keys.at(-1)).toBe('s0')
  expect(keys).not.toContain('s1')
})
