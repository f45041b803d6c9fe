import { expect, test } from 'vitest'
import { keyNamed } from '../../../test/tui/editor-kit.ts'
import { keyGroups, keyGroupsWith } from '../keys.ts'
import { checkKeyBindings, createKeyMap, keyActions } from './key-bindings.ts'
import { keyName } from './key-name.ts'

test('UI109 a bound key means its action or command, a key that is taken away nothing, any other itself', () => {
  const meaningOf = createKeyMap({ 'alt+e': 'editor', 'ctrl+x': 'queue', 'alt+w': '/waiting', 'ctrl+z': 'none' })
  expect(meaningOf(keyNamed('alt+e'))).toEqual({ type: 'ctrl', key: 'g' })
  expect(meaningOf(keyNamed('ctrl+x'))).toEqual({ type: 'enter', alt: true })
  expect(meaningOf(keyNamed('alt+w'))).toEqual({ command: '/waiting' })
  expect(meaningOf(keyNamed('ctrl+z'))).toBeUndefined()
  expect(meaningOf(keyNamed('ctrl+g'))).toEqual({ type: 'ctrl', key: 'g' })
  expect(meaningOf({ type: 'text', text: 'e' })).toEqual({ type: 'text', text: 'e' })
})

test.each(Object.entries(keyActions))('UI109 the action %s has the key %s, which /keys lists', (action, name) => {
  expect(keyName(createKeyMap({ 'alt+1': action })(keyNamed('alt+1')) as Parameters<typeof keyName>[0])).toBe(name)
  expect(keyGroups.flatMap(({ keys }) => keys.flatMap(({ keys: all }) => all.split(' ')))).toContain(name)
})

test.each([
  [{ enter: 'queue' }, 'enter always means the same; bind another key'],
  [{ 'ctrl+c': 'none' }, 'ctrl+c always means the same'],
  [{ e: 'editor' }, 'there is no such key; write "ctrl+x"'],
  [{ 'Ctrl+X': 'editor' }, 'there is no such key'],
  [{ 'meta+x': 'editor' }, 'there is no such key'],
  [{ 'alt+e': 'edtior' }, 'there is no such action, did you mean "editor"?'],
  [{ 'alt+e': 'fly' }, 'there is no such action; there are none, queue,'],
  [{ 'alt+e': '/' }, 'there is no such action'],
])('UI109 the keys %j are refused: %s', (bindings, problem) => {
  expect(() => checkKeyBindings(bindings as Record<string, string>)).toThrow(problem)
})

test('UI109 the table of keys has those that the person chose, and not those that they took away', () => {
  const groups = keyGroupsWith({
    'alt+e': 'editor',
    'alt+x': 'wordLeft',
    'alt+w': '/waiting',
    'ctrl+g': 'none',
    'ctrl+t': 'call',
  })
  expect(groups[0]).toEqual({
    where: 'Your own',
    keys: [
      { keys: 'alt+e', does: 'opens the text in your editor' },
      { keys: 'alt+x', does: 'as alt+b: by words' },
      { keys: 'alt+w', does: 'runs /waiting' },
      { keys: 'ctrl+t', does: 'the last call, with its whole output' },
    ],
  })
  const rest = groups.slice(1).flatMap(({ keys }) => keys.map((row) => row.keys))
  expect(rest).not.toContain('ctrl+g')
  expect(rest).not.toContain('ctrl+t')
  expect(rest).toContain('ctrl+o')
  expect(keyGroupsWith({})).toBe(keyGroups)
})
