import { execFileSync } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { write } from '../../../test/confinement-kit.ts'
import { temporary } from '../../../test/temporary.ts'
import { createCredentialSearch, createToolchainSearch } from './credential-files.ts'
import { createFactFinder } from './facts.ts'

describe('credentials at home that no list knows', () => {
  test('are private files whose names tell, up to four folders deep, outside of caches and of what is hidden', async () => {
    const { home, find } = await homeWith(
      ...['.token', '.a/b/c/token', '.a/b/c/d/token', 'a/token', '.cache/token', '.a/node_modules/token'],
      ...['.closed/token', '.a/closed/b/token', '.a/plain.txt'],
    )
    expect(await find(`${home}/.closed`, `${home}/.a/closed`)).toEqual(['.token', '.a/b/c/token'])
  })

  test('W01 pipes with a name are found too, whatever their permissions, and in the home folder itself', async () => {
    const { home, find } = await homeWith('.a/b/plain.txt')
    for (const name of ['pipe', '.pipe', '.a/b/pipe']) execFileSync('mkfifo', ['-m', '666', join(home, name)])
    expect((await find()).toSorted()).toEqual(['.a/b/pipe', '.pipe', 'pipe'])
  })

  test('are found again when a folder or the rights of a file have changed', async () => {
    const { home, find } = await homeWith('.a/b/token')
    expect(await find()).toEqual(['.a/b/token'])
    privately(home, '.a/c/key.pem')
    expect(await find()).toEqual(['.a/b/token', '.a/c/key.pem'])
    chmodSync(join(home, '.a/b/token'), 0o644)
    expect(await find()).toEqual(['.a/c/key.pem'])
  })

  test('beyond what can be searched or hidden are refused with a reason rather than shown', async () => {
    const home = await temporary('home-')
    const cwd = await temporary('workspace-')
    const finder = createFactFinder({ cwd, roots: [], home })
    const find = () => finder.find({ hidden: [], reads: [], home: 'readable' })
    for (let n = 0; n < 301; n++) privately(home, `.a/${n}.pem`)
    await expect(find()).rejects.toThrow(/^301 files with credentials .* at most 300 are possible; hide their folders/)
    const search = createCredentialSearch({ mostEntries: 301 })
    await expect(search(home, [])).rejects.toThrow(
      'has more than 301 files up to four folders deep, too many to search',
    )
    expect(await search(home, [`${home}/.a`])).toEqual([])
    const { secrets } = await finder.find({ hidden: [`${home}/.a`], reads: [], home: 'readable' })
    expect(secrets.filter(({ path }) => path.startsWith(home))).toEqual([])
  })
})

describe('credentials beside the programs of toolchains', () => {
  const tools = async (...names: string[]) => {
    const home = await temporary('home-')
    for (const name of names) privately(home, name)
    const search = createToolchainSearch({ mostFolders: 20 })
    const find = async (...closed: string[]) => {
      const { secrets, settings } = await search([home], closed)
      const below = (path: string): string => path.slice(home.length + 1)
      return { secrets: secrets.map(({ path }) => below(path)), settings: settings.map(below) }
    }
    return { home, find }
  }

  test('are private files whose names tell, and settings that may hold a token, but no code and no certificates', async () => {
    const { home, find } = await tools(
      ...['auth', '.env', 'etc/server.key', 'a/b/c/d/token.json', 'a/b/c/d/e/token.json', 'python/token.py', 'keys.js'],
      ...['versions/v1/etc/npmrc', '.condarc', 'lib/secret', 'node_modules/token', 'closed/token', 'open.pem'],
    )
    chmodSync(join(home, 'open.pem'), 0o644)
    write(home, { 'ca/cert.pem': '-----BEGIN CERTIFICATE-----', 'ca/own.pem': '-----BEGIN PRIVATE KEY-----' })
    for (const name of ['cert', 'own']) chmodSync(join(home, `ca/${name}.pem`), 0o600)
    const found = await find(join(home, 'closed'))
    expect(found.secrets.toSorted()).toEqual(['.env', 'a/b/c/d/token.json', 'auth', 'ca/own.pem', 'etc/server.key'])
    expect(found.settings.toSorted()).toEqual(['.condarc', 'versions/v1/etc/npmrc'])
  })

  test('are looked for in so many folders, the nearest first', async () => {
    const { find } = await tools('near/token', ...Array.from({ length: 40 }, (_, n) => `far/${n}/token`))
    const { secrets } = await find()
    expect(secrets).toContain('near/token')
    expect(secrets).toHaveLength(18)
  })

  test('are hidden where commands see the toolchain, and the settings only with a token', async () => {
    const home = await temporary('home-')
    const cwd = await temporary('workspace-')
    write(home, { '.nvm/versions/v1/bin/x': '', 'go/bin/x': '', 'go/pkg/mod/x': '' })
    write(home, { '.nvm/.npmrc': '//r/:_authToken=canary', '.nvm/versions/v1/etc/npmrc': 'a=b' })
    privately(home, '.nvm/token')
    const env = [{ PATH: `${home}/.nvm/versions/v1/bin:${home}/go/bin:/usr/bin` }]
    const { secrets } = await createFactFinder({ cwd, roots: [], home, env }).find({ hidden: [], reads: [] })
    const own = secrets.map(({ path }) => path).filter((path) => path.startsWith(home))
    expect(own.toSorted()).toEqual([`${home}/.nvm/.npmrc`, `${home}/.nvm/token`])
  })
})

async function homeWith(...names: string[]) {
  const home = await temporary('home-')
  for (const name of names) privately(home, name)
  const search = createCredentialSearch()
  const find = async (...closed: string[]): Promise<string[]> =>
    (await search(home, closed)).map(({ path }) => path.slice(home.length + 1))
  return { home, find }
}

function privately(home: string, name: string): void {
  write(home, { [name]: 'canary' })
  chmodSync(join(home, name), 0o600)
}
