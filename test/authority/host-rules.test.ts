import { describe, expect, test } from 'vitest'
import { createAuthority } from '../../src/authority/authority.ts'
import { prepareCall } from '../../src/authority/prepare-call.ts'
import { readShell } from '../../src/shell/read-shell.ts'
import { shell, webFetch } from '../../src/tools/index.ts'

/** The verdict on a call of `web_fetch` under these rules. */
async function fetched(url: string, rules: { deny?: string[]; ask?: string[]; allow?: string[] }) {
  const noShell = () => Promise.reject(new Error('it runs no line'))
  const asked = { tool: webFetch, input: { url }, effects: ['net'] } as const
  const call = await prepareCall(asked, { root: '/desk', isTrusted: false }, noShell)
  const { verdict } = await createAuthority({ mode: rules.allow ? 'ask' : 'yolo', ...rules }).judge(call)
  return verdict
}

const long = 'x'.repeat(600)
const huge = 'x'.repeat(5000)

describe('S07 a rule about a host counts for every spelling of it', () => {
  test.each([
    'http://b.test/',
    'https://B.TEST/',
    'https://b.test./',
    'https://b.test:8443/',
    'https://b.%74est/',
    'https://%62.test/',
    'https://ｂ.test/',
    'https://b。test/',
    `https://b.test/${long}`,
    `https://b.test/?q=${huge}`,
    `https://b.test./?q=${long}`,
  ])('%s', async (url) => {
    for (const rule of [
      'net:b.test',
      'net:B.Test.',
      'net:*.test',
      'net:b.test:443',
      'net:https://b.test',
      'web_fetch:b.test',
    ])
      expect(`${rule} ${await fetched(url, { deny: [rule] })}`).toBe(`${rule} deny`)
    expect(await fetched(url, { ask: ['net:b.test'] })).toBe('ask')
    expect(await fetched(url, { deny: ['net:c.test', 'web_fetch:c.test', 'net:b.testing'] })).toBe('allow')
  })

  test.each([
    'https://bücher.test/',
    'https://BÜCHER.test./',
    'https://xn--bcher-kva.test/',
    `https://bücher.test/${long}`,
  ])('%s, in Unicode and in Punycode', async (url) => {
    for (const rule of [
      'net:bücher.test',
      'net:Bücher.Test',
      'net:xn--bcher-kva.test',
      'net:*.bücher.test',
      'web_fetch:bücher.test',
    ])
      expect(`${rule} ${await fetched(rule.includes('*') ? url.replace('//', '//a.') : url, { deny: [rule] })}`).toBe(
        `${rule} deny`,
      )
  })

  test('an address in numbers is the address', async () => {
    for (const url of ['http://2130706433/', 'http://0x7f.1/', 'http://127.0.0.1/'])
      expect(await fetched(url, { deny: ['net:127.0.0.1'] })).toBe('deny')
    expect(await fetched('http://[0:0::1]:80/', { deny: ['net:::1'] })).toBe('deny')
  })

  test('a rule that allows means the host, and no other', async () => {
    for (const rule of ['net:b.test', 'net:B.test.', 'web_fetch:b.test']) {
      expect(await fetched('https://b.test./', { allow: [rule] })).toBe('allow')
      expect(await fetched('https://a.b.test/', { allow: [rule] })).toBe('ask')
      expect(await fetched('https://b.test.evil.test/', { allow: [rule] })).toBe('ask')
      expect(await fetched('https://b.test@evil.test/', { allow: [rule] })).toBe('ask')
    }
    for (const rule of ['net:bücher.test', 'net:xn--bcher-kva.test', 'web_fetch:bücher.test'])
      expect(await fetched('https://bücher.test/', { allow: [rule] })).toBe('allow')
  })
})

describe('S07 a shell line cannot get past a rule about a host', () => {
  async function run(command: string, rules: { deny: string[] }) {
    const asked = { tool: shell, input: { command }, effects: ['exec'] } as const
    const call = await prepareCall(asked, { root: '/desk', isTrusted: false }, async (text) => readShell(text))
    return (await createAuthority({ mode: 'yolo', ...rules }).judge(call)).verdict
  }

  test.each([
    'curl http://b.test',
    'curl http://b.test.',
    'curl http://b.%74est',
    'curl HTTP://B.TEST:80/x',
    'curl https://a.test b.test',
    'curl -o x https://a.test -o y b.test/z',
    'curl -x b.test https://a.test',
    'curl --proxy=b.test https://a.test',
    'curl --connect-to ::b.test: https://a.test',
    'curl --url b.test',
    'curl --prox b.test https://a.test',
    'wget --max-redirect=0 https://a.test b.test',
    'timeout 5 curl -s b.test',
    'git clone https://b.test/x',
    'scp f me@b.test:x',
  ])('%s is denied', async (line) => {
    expect(await run(line, { deny: ['net:b.test'] })).toBe('deny')
  })

  test.each([
    'curl -L https://a.test',
    'curl -K list',
    'wget https://a.test',
    'https_proxy=b.test curl https://a.test',
    'ssh b',
    'curl https://{a,b}.test',
  ])('%s is asked about', async (line) => {
    expect(await run(line, { deny: ['net:b.test'] })).toBe('ask')
  })

  test('a line that reaches only other hosts runs', async () => {
    for (const line of [
      'curl -sS https://a.test/x',
      'wget -q --max-redirect=0 https://a.test',
      'git clone https://a.test/x',
    ])
      expect(await run(line, { deny: ['net:b.test'] })).toBe('allow')
  })

  test('a rule about an address counts where that is what is connected to', async () => {
    expect(await run('curl --resolve a.test:443:10.0.0.7 https://a.test', { deny: ['net:10.*'] })).toBe('deny')
    expect(await run('curl http://0x7f.1', { deny: ['net:127.*'] })).toBe('deny')
  })
})
