import { expect, test } from 'vitest'
import { folderNameOf, idOfFolder } from './session-folder.ts'

test('a folder is named for its session, readably where that is safe', () => {
  const names = {
    'my-chat_2': 'my-chat_2',
    A: '%41',
    'p/call_1': 'p%2fcall_1',
    '../a': '%2e%2e%2fa',
    '.': '%2e',
    con: '%63on',
    com1: '%63om1',
    contact: 'contact',
    'a b': 'a%20b',
    ä: '%c3%a4',
    '': '%',
    '%': '%25',
  }
  for (const [id, name] of Object.entries(names)) {
    expect(folderNameOf(id)).toBe(name)
    expect(idOfFolder(name)).toBe(id)
  }
})

test('ids that are too long, or have half a character, get a digest of a name, each its own', () => {
  const ids = ['x'.repeat(200), 'x'.repeat(201), 'Ä'.repeat(100), '\ud800', '\ud801', '\ufffd']
  const names = ids.map(folderNameOf)
  expect(new Set(names).size).toBe(ids.length)
  for (const name of names) expect(name).toMatch(/^[%a-z0-9-]{1,180}$/)
  expect(names.slice(0, 5).map(idOfFolder)).toEqual(Array(5).fill(undefined))
})

test('what is no name of ours has no id', () => {
  for (const name of ['A', 'a.b', '%4', '%zz', '%2E', 'con', '%61', 'a b']) expect(idOfFolder(name)).toBeUndefined()
})
