import { expect, test } from 'vitest'
import { createPaint } from './paint.ts'
import { createThemeChoice } from './theme-choice.ts'

test('a theme says which colours of the palette are used for what, and can be changed while the program runs', () => {
  const choice = createThemeChoice()
  const paint = createPaint({ colours: true, theme: () => choice.theme })
  expect([paint.cyan('x'), paint.dim('x')]).toEqual(['\x1b[36mx\x1b[39m', '\x1b[2mx\x1b[22m'])
  choice.use('bright')
  expect([paint.cyan('x'), paint.bold('x')]).toEqual(['\x1b[96mx\x1b[39m', '\x1b[1mx\x1b[22m'])
  choice.use('contrast')
  expect(paint.dim('x')).toBe('\x1b[39mx\x1b[39m')
  expect(choice.names).toEqual(['contrast', 'terminal', 'bright', 'mono'])
})

test('an own theme is one of those to choose from, and without colours no theme has any', () => {
  const choice = createThemeChoice({ accent: 'magenta' })
  expect(choice.names).toEqual(['own', 'terminal', 'bright', 'contrast', 'mono'])
  expect(createPaint({ colours: true, theme: () => choice.theme }).cyan('x')).toBe('\x1b[35mx\x1b[39m')
  expect(createPaint({ colours: false, theme: () => choice.theme }).cyan('x')).toBe('x')
})
