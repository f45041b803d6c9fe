import { describe, expect, test } from 'vitest'
import { patternProblem } from './pattern-problem.ts'
import { runWithTimeout, TimedOut } from './schema-check.ts'

const problemOf = (pattern: string) => patternProblem(pattern, { steps: 100_000 })

const endless: Record<string, readonly [pattern: string, text: string]> = {
  'a loop in a loop': ['^(a+)+$', `${'a'.repeat(40)}!`],
  'a loop of what may be empty': ['^(a*)*$', `${'a'.repeat(40)}!`],
  'two ways of one letter': ['^(a|a)*$', `${'a'.repeat(40)}!`],
  'choices that overlap': ['^(\\w|\\d)+$', `${'1'.repeat(40)}!`],
  'words and blanks that need not be': ['^(\\w+\\s?)*$', `${'a'.repeat(40)}!`],
  'a choice of one and two': ['^(a|aa)+$', `${'a'.repeat(80)}!`],
  'a class beside its letter': ['^([a-z]+|b)*$', `${'b'.repeat(40)}!`],
  'deep inside': ['^x(?:y(?:z|(?:[ab]+)+))$', `xy${'ab'.repeat(20)}!`],
  'inside a lookahead': ['^(?=(a+)+$)', `${'a'.repeat(40)}!`],
  'a counted loop': ['^(a+){20}$', `${'a'.repeat(60)}!`],
  'many that may be empty': ['^(a?){40}$', `${'a'.repeat(60)}!`],
  'spelled in two ways': ['^(?:\\x61|\\u{61})+$', `${'a'.repeat(40)}!`],
  'small and large letters': ['^(?i:a|A)+$', `${'a'.repeat(40)}!`],
  'dots that take all': ['^(.*,)*(.*,)*$|^(?:.*.*)+x$', `${'a'.repeat(60)}!`],
}

describe('MC-05 a catastrophic pattern is detected without running it', () => {
  test.each(Object.entries(endless))('%s', (_, [pattern, text]) => {
    expect(problemOf(pattern)).toContain('may take for ever')
    expect(() => runWithTimeout(() => new RegExp(pattern, 'u').test(text), 10)).toThrow(TimedOut)
  })

  test('a backreference, and a pattern that is too long', () => {
    expect(problemOf('^(a+)\\1$')).toContain('refers back')
    expect(problemOf('^(?<x>a)\\k<x>$')).toContain('refers back')
    expect(problemOf('a'.repeat(1001))).toContain('1001 characters')
  })

  test('a pattern that is too complicated to judge is refused in bounded time', () => {
    const letters = Array.from({ length: 240 }, (_, i) => String.fromCodePoint(0x4e00 + i))
    expect(problemOf(`^(?:${letters.map((one) => `${one}?`).join('')})*$`)).toMatch(/for ever|too complicated/)
    expect(problemOf(`${'('.repeat(9)}a${'{8})'.repeat(9)}`)).toContain('too complicated')
  })

  test('a pattern that is invalid in JavaScript is never run, so it is harmless', () => {
    for (const pattern of ['(?P<year>\\d+)', '\\A\\d+\\Z', '[', '(?i)abc', '^[\\w-\\.]+$', '*'])
      expect(problemOf(pattern)).toBe('unreadable')
  })
})

const honest: Record<string, string> = {
  word: '^[A-Za-z0-9_-]+$',
  slug: '^[a-z0-9]+(?:-[a-z0-9]+)*$',
  path: '^(?:/[^/\\0]+)+/?$',
  'two parts': '^[^\\s/]+/[^\\s/]+$',
  mail: "^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$",
  'simple mail': '^[^\\s@]+@[^\\s@]+\\.[^\\s@]+$',
  uuid: '^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}|00000000-0000-0000-0000-000000000000)$',
  base64: '^$|^(?:[0-9a-zA-Z+/]{4})*(?:(?:[0-9a-zA-Z+/]{2}==)|(?:[0-9a-zA-Z+/]{3}=))?$',
  ipv4: '^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])$',
  ipv6: '^(([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4})$',
  duration: '^P(?:(\\d+W)|(?!.*W)(?=\\d|T\\d)(\\d+Y)?(\\d+M)?(\\d+D)?(T(?=\\d)(\\d+H)?(\\d+M)?(\\d+([.,]\\d+)?S)?)?)$',
  moment:
    '^(?:(?:\\d\\d[2468][048]|\\d\\d[13579][26]|\\d\\d0[48]|[02468][048]00|[13579][26]00)-02-29|\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|(?:02)-(?:0[1-9]|1\\d|2[0-8])))T(?:(?:[01]\\d|2[0-3]):[0-5]\\d(?::[0-5]\\d(?:\\.\\d+)?)?(?:Z))$',
  version:
    '^(0|[1-9]\\d*)\\.(0|[1-9]\\d*)\\.(0|[1-9]\\d*)(?:-((?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\\.(?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\\+([0-9a-zA-Z-]+(?:\\.[0-9a-zA-Z-]+)*))?$',
  'names in any script': '^\\p{L}+(?:[ -]\\p{L}+)*$',
  long: '^[a-z]{1,255}$',
  'counted pairs': '^(?:[0-9a-f]{2}:){5}[0-9a-f]{2}$',
  'thousand groups': '^\\d{1,3}(?:,\\d{3})*$',
  hosts: '^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z]{2,63}$',
  camel: '^(?:[a-z]+[A-Z])+[a-z]*$',
}

test.each(Object.entries(honest))('an ordinary pattern is accepted: %s', (_, pattern) => {
  expect(problemOf(pattern)).toBeUndefined()
})
