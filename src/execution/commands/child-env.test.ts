import { describe, expect, test } from 'vitest'
import { childEnv } from './child-env.ts'

/** What a host may have; the right column says whether a command may see it. */
const host = {
  PATH: '/usr/bin:/home/me/sk-learn-is-a-long-folder-name/bin:/nix/store/0c5b1ykq2v3xnl4jd8f7h6s9w0a1z2m3-x/bin',
  HOME: '/home/me',
  USER: 'me',
  LOGNAME: 'me',
  SHELL: '/bin/zsh',
  LANG: 'de_DE.UTF-8',
  LC_ALL: 'C',
  LC_TIME: 'en_GB.UTF-8',
  TZ: 'Europe/Berlin',
  TMPDIR: '/tmp/mine',
}

test('a command gets what a shell needs', () => {
  expect(childEnv({ host })).toMatchObject(host)
})

test('SE-01 nothing else of the host reaches a command: no key, no loader, no setting of a tool', () => {
  const others = [
    ...['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'GITHUB_TOKEN', 'AWS_SECRET_ACCESS_KEY', 'DATABASE_URL', 'CI_JOB_JWT'],
    ...['LD_PRELOAD', 'LD_LIBRARY_PATH', 'DYLD_INSERT_LIBRARIES', 'NODE_OPTIONS', 'NODE_PATH', 'BASH_ENV', 'ENV'],
    ...['PROMPT_COMMAND', 'PYTHONSTARTUP', 'PERL5OPT', 'RUBYOPT', 'GIT_DIR', 'GIT_CONFIG_KEY_2', 'RIPGREP_CONFIG_PATH'],
    ...['LESSOPEN', 'BASH_FUNC_ls%%', 'path', 'LIBERO_COMMAND', 'SSH_AUTH_SOCK', 'npm_config_//r/:_authToken', 'XLC_A'],
  ]
  const env = childEnv({ host: { ...host, ...Object.fromEntries(others.map((name) => [name, 'planted'])) } })
  expect(Object.entries(env).filter(([name, value]) => others.includes(name) || value.includes('planted'))).toEqual([])
  expect(childEnv({ host: { ...host, GIT_CONFIG_COUNT: '7', GIT_CONFIG_KEY_0: 'core.pager' } })).toMatchObject({
    GIT_CONFIG_COUNT: '2',
    GIT_CONFIG_KEY_0: 'core.fsmonitor',
    GIT_CONFIG_VALUE_0: 'false',
    GIT_CONFIG_KEY_1: 'safe.bareRepository',
    GIT_CONFIG_VALUE_1: 'explicit',
  })
})

describe('SE-01 a value that looks like a secret is dropped, whatever its name:', () => {
  const secrets = {
    'a key of a model service': `sk-ant-api03-${'aB3'.repeat(20)}`,
    'a token of a code host': `ghp_${'aB3'.repeat(12)}`,
    'a cloud key': 'AKIAIOSFODNN7EXAMPLE',
    'a JWT': 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl',
    'a private key': '-----BEGIN OPENSSH PRIVATE KEY-----\nabc',
    'a URL with a password': 'https://me:hunter2@example.com/x',
    'a URL with a token only': 'see https://hunter2@example.com',
    'a long opaque text': '0123456789abcdef0123456789abcdef',
    'a key behind a name': `token=sk_live_${'aB3'.repeat(8)}`,
  }
  test.each(Object.entries(secrets))('%s', (_, secret) => {
    for (const name of ['LANG', 'TZ', 'LC_ALL', 'LC_MINE'])
      expect(childEnv({ host: { [name]: secret } })).not.toHaveProperty(name)
  })

  test('an inherited name that promises a secret', () => {
    expect(childEnv({ host: { LC_TOKEN: 'x', LC_PASSWORD: 'x', LC_KEY: 'x' } })).not.toHaveProperty('LC_TOKEN')
  })
})

test('what was asked for by name comes as it is', () => {
  const secret = `sk-ant-${'aB3'.repeat(20)}`
  const env = childEnv({
    host: { MY_KEY: secret, NODE_OPTIONS: '--x', OTHER: 'no' },
    inherit: ['MY_KEY', 'NODE_OPTIONS', 'NONE'],
  })
  expect(env).toMatchObject({ MY_KEY: secret, NODE_OPTIONS: '--x' })
  expect(env).not.toHaveProperty('OTHER')
  expect(env).not.toHaveProperty('NONE')
})

test('FT-13 programs that would prompt are told not to, unless the host wants it otherwise', () => {
  const given = { TERM: 'xterm', PAGER: 'less', EDITOR: 'vim', GIT_SSH_COMMAND: 'mine', SSH_ASKPASS: '/usr/bin/ask' }
  expect(childEnv({ host: given })).toMatchObject({
    TERM: 'dumb',
    PAGER: 'cat',
    GIT_PAGER: 'cat',
    GIT_TERMINAL_PROMPT: '0',
    GIT_EDITOR: 'false',
    EDITOR: 'false',
    VISUAL: 'false',
    GIT_SSH_COMMAND: 'ssh -o BatchMode=yes',
    SSH_ASKPASS: 'false',
    DEBIAN_FRONTEND: 'noninteractive',
  })
  expect(childEnv({ host: given, inherit: ['PAGER'], added: [{ EDITOR: 'ed' }] })).toMatchObject({
    PAGER: 'less',
    EDITOR: 'ed',
  })
})

test('of what is added the later wins, over everything inherited', () => {
  const added = [{ A: '1', B: '1', C: '1', PATH: '/x' }, undefined, { B: '2', C: '2' }, { C: '3' }]
  expect(childEnv({ host: { ...host, A: '0' }, inherit: ['A'], added })).toMatchObject({
    A: '1',
    B: '2',
    C: '3',
    PATH: '/x',
  })
})
