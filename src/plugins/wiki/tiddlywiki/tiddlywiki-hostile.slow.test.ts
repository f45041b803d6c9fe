import { execFileSync, spawn } from 'node:child_process'
import {
  cp,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect } from 'vitest'
import { sampleOf, testInTurns } from '../../../../test/soak.ts'
import type { KnowledgeStore, Wiki } from '../knowledge-store.ts'
import { createTiddlyWikiStore, type TiddlyWikiWorkspace } from './tiddlywiki-store.ts'

// Each test starts TiddlyWiki in a thread.
const test = testInTurns(4)

const scratch: string[] = []
const stores: KnowledgeStore[] = []
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close?.()
  for (const folder of scratch.splice(0)) await rm(folder, { recursive: true, force: true })
})

interface Scene {
  readonly wiki: Wiki
  /** Holds the wiki's folder `w`, and a file beside it. */
  readonly outside: string
  readonly at: (name: string) => string
}

async function sceneOf(
  files: Readonly<Record<string, string>>,
  { timeLimitMs = 60_000, ...workspace }: Partial<TiddlyWikiWorkspace> & { timeLimitMs?: number } = {},
): Promise<Scene> {
  const outside = await realpath(await mkdtemp(join(tmpdir(), 'libero-hostile-')))
  scratch.push(outside)
  const folder = join(outside, 'w')
  const at = (name: string): string => join(folder, name)
  await mkdir(at('tiddlers'), { recursive: true })
  await writeFile(join(outside, 'beside.txt'), 'mine')
  for (const [name, text] of Object.entries({ 'tiddlywiki.info': '{}', ...files })) {
    await mkdir(dirname(at(name)), { recursive: true })
    await writeFile(at(name), text)
  }
  const store = createTiddlyWikiStore({ workspaces: { w: { folder, ...workspace } }, timeLimitMs })
  stores.push(store)
  return { wiki: await store.open('w'), outside, at }
}

const tid = (title: string, text: string, fields = ''): string => `title: ${title}\n${fields}\n${text}`

/** A module that leaves a file behind when it runs. */
const code = (mark: string): string =>
  `require('fs').writeFileSync(${JSON.stringify(mark)}, 'ran'); exports.startup = function() {};`

describe('an endless call is ended, and the next one is answered', () => {
  const never: Record<string, (wiki: Wiki) => Promise<unknown>> = {
    'a filter of nested ranges': (wiki) =>
      wiki.filter('[range[9999]] :map[range[9999]count[]] :map[range[9999]count[]] :map[range[9999]count[]]'),
    'a regular expression that backtracks': (wiki) => wiki.filter('[all[tiddlers]search:title:regexp[^(a+)+$]]'),
    'functions that call themselves twice': (wiki) => wiki.render('functions'),
    'pages that double each other': (wiki) => wiki.render('double 0'),
  }
  const files = {
    'tiddlers/a.tid': tid(`${'a'.repeat(40)}!`, 'x'),
    'tiddlers/f.tid': tid('functions', '\\function .f() [.f[]] [.f[]] [.f[]]\n<$text text={{{ [.f[]] }}}/>'),
    ...Object.fromEntries(
      Array.from({ length: 60 }, (_, n) => [
        `tiddlers/d${n}.tid`,
        tid(`double ${n}`, `{{double ${n + 1}}}{{double ${n + 1}}}`),
      ]),
    ),
    'tiddlers/d60.tid': tid('double 60', 'x'),
  }

  test.for(sampleOf(Object.entries(never), 1))('%s', async ([, ask]) => {
    const { wiki } = await sceneOf(files, { timeLimitMs: 1500 })
    const waiting = wiki.get('double 60')
    await waiting
    const [stopped, next] = await Promise.allSettled([ask(wiki), wiki.get('functions')])
    expect(String(stopped.status === 'rejected' && stopped.reason.message)).toMatch(
      /ask for less, such as a simpler filter/,
    )
    expect(next).toMatchObject({ status: 'fulfilled', value: { title: 'functions' } })
  })

  test('a call that takes too much memory ends its thread, not the process', async () => {
    const { wiki } = await sceneOf({})
    const doubled = ':map[addsuffix<currentTiddler>] '.repeat(17)
    const wanted = wiki.filter(
      `[range[900]] :map[<currentTiddler>addsuffix[xxxxxxxxxxxxxxx]] ${doubled} :map[uppercase[]]`,
    )
    await expect(wanted).rejects.toThrow(/memory limit.*ask for less/)
    expect((await wiki.filter('[[x]]')).titles).toEqual(['x'])
  }, 90_000)

  test('an aborted call ends its thread at once', async () => {
    const { wiki } = await sceneOf(files)
    await wiki.get('functions')
    const stop = new AbortController()
    const running = wiki.render('functions', { signal: stop.signal })
    const queued = wiki.get('functions', { signal: AbortSignal.any([stop.signal]) })
    setTimeout(() => stop.abort(new Error('enough')), 100)
    await expect(running).rejects.toThrow('enough')
    await expect(queued).rejects.toThrow('enough')
    expect((await wiki.get('functions'))!.title).toBe('functions')
  })

  test('a filter error of TiddlyWiki is an error, and not a title', async () => {
    const { wiki } = await sceneOf({})
    for (const filter of ['[range[1,99999999]]', '[all[tiddlers]regexp[(]]', '[[x]search:title:regexp[(]] [is[foo]]'])
      await expect(wiki.filter(filter)).rejects.toThrow('is wrong')
    await expect(wiki.filter('x'.repeat(10_001))).rejects.toThrow('at most 10000')
  })
})

test('recursive transclusion is a problem of the page, in a circle of any length', async () => {
  const { wiki } = await sceneOf({
    'tiddlers/a.tid': tid('A', 'x {{B}}'),
    'tiddlers/b.tid': tid('B', '{{C}}{{C}}'),
    'tiddlers/c.tid': tid('C', '{{A}}{{B}}'),
  })
  const { problems } = await wiki.render('A')
  expect(problems.map(({ kind }) => kind)).toEqual(['recursion'])
})

test('a tiddler of 5 MB is kept whole, shown in part', async () => {
  const { wiki } = await sceneOf({})
  const text = 'word '.repeat(1_000_000)
  await wiki.put({ title: 'big', text })
  expect((await wiki.get('big'))!.text === text).toBe(true)
  const rendered = await wiki.render('big')
  expect(rendered.text.length).toBeLessThan(1_000_100)
  expect(rendered.text).toMatch(/cut after 1000000 of \d+ characters\)$/)
  await expect(wiki.put({ title: 'bigger', text: text.repeat(4) })).rejects.toThrow('use at most')
})

test('a file that is too large to be read is reported, and neither changed nor removed', async () => {
  const { wiki, at } = await sceneOf({
    'tiddlers/film.mp4': '',
    'tiddlers/film.mp4.meta': 'title: Film\ntype: video/mp4',
  })
  await truncate(at('tiddlers/film.mp4'), 33 * 1024 * 1024)
  const film = (await wiki.get('Film'))!
  expect(film).toMatchObject({
    type: 'video/mp4',
    text: expect.stringMatching(/is not shown: it is larger than 32 MiB$/),
  })
  await expect(wiki.put({ ...film, tags: ['seen'] })).rejects.toThrow('too large to be read and is not changed')
  await expect(wiki.delete('Film')).rejects.toThrow('too large to be read and is not changed')
  expect((await readdir(at('tiddlers'))).sort()).toEqual(['film.mp4', 'film.mp4.meta'])
  expect((await lstat(at('tiddlers/film.mp4'))).size).toBe(33 * 1024 * 1024)
})

describe('nothing is written outside of the folder of tiddlers', () => {
  const titles = [
    '../../outside',
    '..\\..\\outside',
    '../beside.txt',
    '/etc/libero-test',
    '//x',
    'C:\\x',
    'c:x',
    '.',
    '..',
    '...',
    '.hidden',
    '.git',
    '.git/config',
    'con',
    'NUL',
    'com1.tid',
    'a/../../b',
    '$:/../../x',
    '$:/config/x',
    'tiddlywiki.files',
    'tiddlywiki.info',
    'plugin.info',
    'x.meta',
    '~/x',
    '~root',
    'file:///etc/x',
    '%2e%2e%2fx',
    '|x',
    '`x`',
    '$(x)',
    "'",
    '"',
    '*',
    '?',
    '_',
    'x'.repeat(1000),
    '水'.repeat(900),
    '.'.repeat(900),
    '𠮷'.repeat(400),
    '<script>',
    'a\u202eb',
    'é',
    '__proto__',
    'constructor',
    'toString',
    'X.TID',
    'x.tid',
  ]
  const types = [undefined, 'image/png', 'application/javascript', 'application/json']

  test.for(sampleOf(types, 1))('whatever the title, with the type %s', async (type) => {
    const { wiki, outside, at } = await sceneOf({})
    const kept: string[] = []
    for (const title of titles) {
      try {
        await wiki.put({ title, text: `of ${title}`, ...(type && { type }) })
        kept.push(title)
      } catch (error) {
        expect(String(error)).toMatch(/no place for tiddlers/)
      }
    }
    expect(await readdir(outside)).toEqual(['beside.txt', 'w'])
    expect(await readdir(at(''))).toEqual(['.libero', 'tiddlers', 'tiddlywiki.info'])
    expect(await readdir(at('.libero'))).toEqual([])
    expect(await readFile(join(outside, 'beside.txt'), 'utf8')).toBe('mine')
    expect(await readFile(at('tiddlywiki.info'), 'utf8')).toBe('{}')
    await expect(lstat('/etc/libero-test.tid')).rejects.toThrow('ENOENT')
    expect(kept).toEqual(titles)
    const names = await readdir(at('tiddlers'))
    expect(names.filter((name) => /^\.|^tiddlywiki\.files$|^plugin\.info$/.test(name))).toEqual([])
    const fresh = createTiddlyWikiStore({ workspaces: { w: { folder: at('') } } })
    stores.push(fresh)
    const again = await fresh.open('w')
    for (const title of kept) expect([title, (await again.get(title))?.text]).toEqual([title, `of ${title}`])
    for (const title of kept) expect([title, await wiki.delete(title)]).toEqual([title, true])
    expect(await readdir(at('tiddlers'))).toEqual([])
  })

  test('with any path settings of the wiki', async () => {
    const paths =
      '[prefix[out]addprefix[../../]]\n[prefix[info]then[../tiddlywiki.info]]\n[prefix[abs]addprefix[/]]\n[prefix[hid]then[.git/config]]\n[prefix[cvs]addprefix[CVS/]]\n[prefix[in]addprefix[sub/deep/]]'
    const { wiki, outside, at } = await sceneOf({
      'tiddlers/p.tid': tid('$:/config/FileSystemPaths', paths),
      'tiddlers/e.tid': tid(
        '$:/config/FileSystemExtensions',
        '[prefix[ext]then[/../../../x.js]]\n[prefix[met]then[.meta]]',
      ),
    })
    for (const title of ['info', 'cvs'])
      await expect(wiki.put({ title, text: 'x' })).rejects.toThrow('no place for tiddlers')
    // TiddlyWiki itself brings some of these home.
    for (const title of ['out', 'abs', 'hid', 'ext', 'met']) await wiki.put({ title, text: 'x' }).catch(() => {})
    await wiki.put({ title: 'inner', text: 'x' })
    expect(await readdir(at('tiddlers/sub/deep'))).toEqual(['inner.tid'])
    expect(await readdir(outside)).toEqual(['beside.txt', 'w'])
    expect(await readFile(at('tiddlywiki.info'), 'utf8')).toBe('{}')
  })

  test('nor through links, which are not read either', async () => {
    const { wiki, outside, at } = await sceneOf({
      'tiddlers/p.tid': tid('$:/config/FileSystemPaths', '[prefix[in]addprefix[sub/]]'),
    })
    await mkdir(join(outside, 'elsewhere'))
    await writeFile(join(outside, 'secret.tid'), tid('Secret', 'key'))
    await symlink(join(outside, 'elsewhere'), at('tiddlers/sub'))
    await symlink(join(outside, 'secret.tid'), at('tiddlers/link.tid'))
    await symlink(join(outside, 'not-there'), at('tiddlers/dangling.tid'))
    expect(await wiki.get('Secret')).toBeUndefined()
    await expect(wiki.put({ title: 'inner', text: 'x' })).rejects.toThrow('is a link')
    await expect(wiki.put({ title: 'dangling', text: 'x' })).rejects.toThrow('is a link')
    await wiki.put({ title: 'link', text: 'x' })
    expect(await readFile(join(outside, 'secret.tid'), 'utf8')).toBe(tid('Secret', 'key'))
    expect(await readdir(join(outside, 'elsewhere'))).toEqual([])
    await expect(lstat(join(outside, 'not-there'))).rejects.toThrow('ENOENT')
  })

  test('a lock that is a link or a pipe is refused at once', async () => {
    const { wiki, outside, at } = await sceneOf({ 'tiddlers/a.tid': tid('a', 'x') })
    await symlink(outside, at('.libero'))
    await expect(wiki.put({ title: 'b' })).rejects.toThrow('.libero is no plain folder or file; nothing was written')
    await rm(at('.libero'))
    await mkdir(at('.libero'))
    execFileSync('mkfifo', [at('.libero/wiki.lock')])
    await expect(wiki.put({ title: 'b' })).rejects.toThrow('wiki.lock is no plain folder or file')
    await rm(at('.libero/wiki.lock'))
    await wiki.put({ title: 'b' })
    expect((await readdir(outside)).sort()).toEqual(['beside.txt', 'w'])
  })

  test('a folder of tiddlers that is a link is refused', async () => {
    const { wiki, outside, at } = await sceneOf({})
    await mkdir(join(outside, 'elsewhere'))
    await rm(at('tiddlers'), { recursive: true })
    await symlink(join(outside, 'elsewhere'), at('tiddlers'))
    await expect(wiki.get('x')).rejects.toThrow('is a link')
    await expect(wiki.put({ title: 'x' })).rejects.toThrow('is a link')
    expect(await readdir(join(outside, 'elsewhere'))).toEqual([])
  })
})

describe('code in a wiki', () => {
  async function sceneWithCode(loadPlugins: boolean): Promise<Scene & { marks: () => Promise<string[]> }> {
    const marksAt = await mkdtemp(join(tmpdir(), 'libero-marks-'))
    scratch.push(marksAt)
    const mark = (name: string): string => code(join(marksAt, name))
    const module = 'type: application/javascript\nmodule-type: startup\n'
    const scene = await sceneOf(
      {
        'tiddlywiki.info': JSON.stringify({
          plugins: ['tiddlywiki/filesystem', 'own/one'],
          includeWikis: ['../other'],
        }),
        'tiddlers/m.tid': tid('$:/own/startup.js', mark('tid'), module),
        'tiddlers/core.tid': tid(
          '$:/core/modules/filters/prefix.js',
          mark('core'),
          'type: application/javascript\nmodule-type: filteroperator\n',
        ),
        'tiddlers/j.js': `/*\\\ntitle: $:/own/other.js\n${module}\n\\*/\n${mark('js')}`,
        'plugins/one/plugin.info': JSON.stringify({ title: '$:/plugins/own/one' }),
        'plugins/one/s.js': `/*\\\ntitle: $:/plugins/own/one/s.js\n${module}\n\\*/\n${mark('plugin')}`,
        'tiddlers/packed.json': JSON.stringify([
          {
            title: '$:/plugins/own/two',
            type: 'application/json',
            'plugin-type': 'plugin',
            text: JSON.stringify({
              tiddlers: {
                '$:/two.js': { type: 'application/javascript', 'module-type': 'startup', text: mark('packed') },
              },
            }),
          },
        ]),
        '../other/tiddlywiki.info': '{}',
        '../other/tiddlers/o.tid': tid('Other', 'included'),
      },
      { loadPlugins },
    )
    return { ...scene, marks: () => readdir(marksAt) }
  }

  test('is data by default: it is read, never run', async () => {
    const { wiki, marks } = await sceneWithCode(false)
    expect((await wiki.get('$:/own/startup.js'))!.text).toContain('writeFileSync')
    expect((await wiki.filter('[prefix[$:/own/]]')).titles).toEqual(['$:/own/other.js', '$:/own/startup.js'])
    await wiki.render('$:/own/startup.js')
    expect(await wiki.get('Other')).toBeUndefined()
    expect(await marks()).toEqual([])
  })

  test('is run if the wiki is trusted', async () => {
    const { wiki, marks } = await sceneWithCode(true)
    expect((await wiki.get('Other'))!.text).toBe('included')
    expect(await marks()).toEqual(expect.arrayContaining(['js', 'packed', 'plugin', 'tid']))
  })

  test('is not written, as a person’s own TiddlyWiki would run it', async () => {
    const { wiki, at } = await sceneOf({})
    for (const field of ['module-type', 'plugin-type']) {
      const tiddler = { title: '$:/x.js', type: 'application/javascript', text: 'x', fields: { [field]: 'startup' } }
      await expect(wiki.put(tiddler)).rejects.toThrow(`"${field}"`)
    }
    expect(await readdir(at('tiddlers'))).toEqual([])
  })

  test('a list of files from elsewhere is not followed', async () => {
    const spec = JSON.stringify({ tiddlers: [{ file: '../../beside.txt', fields: { title: 'Stolen' } }] })
    const { wiki } = await sceneOf({ 'tiddlers/tiddlywiki.files': spec })
    await expect(wiki.get('Stolen')).rejects.toThrow('names files from elsewhere')
    const trusting = await sceneOf({ 'tiddlers/tiddlywiki.files': spec }, { loadPlugins: true })
    expect((await trusting.wiki.get('Stolen'))!.text).toBe('mine')
    await expect(trusting.wiki.put({ title: 'Stolen', text: 'x' })).rejects.toThrow('change it by hand')
  })
})

describe('a process', () => {
  const source = fileURLToPath(new URL('../../..', import.meta.url))

  function runs(script: string, env: Record<string, string> = {}): Promise<{ code: number | null; out: string }> {
    return new Promise((resolve, reject) => {
      const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
        env: { PATH: process.env.PATH ?? '', ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
        timeout: 60_000,
      })
      let out = ''
      child.stdout.on('data', (data) => (out += data))
      child.stderr.on('data', (data) => (out += data))
      child.on('error', reject)
      child.on('close', (code) => resolve({ code, out }))
    })
  }

  const scriptIn = (folder: string, at: string, work: string): string => `
    import { createTiddlyWikiStore } from ${JSON.stringify(join(folder, 'plugins/wiki/tiddlywiki/tiddlywiki-store.ts'))}
    const store = createTiddlyWikiStore({ workspaces: { w: { folder: ${JSON.stringify(at)} } } })
    const wiki = await store.open('w')
    ${work}`

  test('ends by itself when its store was closed, and when it was not', async () => {
    const { at } = await sceneOf({ 'tiddlers/a.tid': tid('A', 'one') })
    const work = `console.log((await wiki.get('A')).text, (await wiki.filter('[regexp/x/]')).total)`
    expect(await runs(scriptIn(source, at(''), `${work}; await store.close()`))).toEqual({ code: 0, out: 'one 1\n' })
    expect(await runs(scriptIn(source, at(''), work))).toEqual({ code: 0, out: 'one 1\n' })
    const closed = `await wiki.get('A'); await store.close(); await wiki.get('A').catch((e) => console.log(e.message))`
    expect((await runs(scriptIn(source, at(''), closed))).out).toContain('was closed')
  })

  test('the environment of TiddlyWiki does not matter', async () => {
    const { at, outside } = await sceneOf({ 'tiddlywiki.info': JSON.stringify({ plugins: ['own/evil'] }) })
    const mark = join(outside, 'ran')
    const plugin = join(outside, 'library/own/evil')
    await mkdir(plugin, { recursive: true })
    await writeFile(join(plugin, 'plugin.info'), JSON.stringify({ title: '$:/plugins/own/evil' }))
    await writeFile(
      join(plugin, 's.js'),
      `/*\\\ntitle: $:/evil.js\ntype: application/javascript\nmodule-type: startup\n\n\\*/\n${code(mark)}`,
    )
    const trusting = scriptIn(source, at(''), `console.log((await wiki.filter('[[x]]')).total)`).replace(
      '} } })',
      ', loadPlugins: true } } })',
    )
    expect(trusting).toContain('loadPlugins')
    const ran = await runs(trusting, { TIDDLYWIKI_PLUGIN_PATH: join(outside, 'library') })
    expect(ran).toEqual({ code: 0, out: '1\n' })
    await expect(lstat(mark)).rejects.toThrow('ENOENT')
  })

  test('without the package gets an error with the install command', async () => {
    const { at, outside } = await sceneOf({})
    const copy = join(outside, 'src')
    for (const folder of ['core', 'platform', 'plugins/wiki'])
      await cp(join(source, folder), join(copy, folder), { recursive: true })
    await writeFile(join(outside, 'package.json'), '{"type":"module"}')
    const ran = await runs(scriptIn(copy, at(''), `await wiki.get('A').catch((e) => console.log(e.message))`))
    expect(ran.out).toContain('npm install tiddlywiki')
  })
})

test('workspaces are checked: no folder, no wiki, one name twice', async () => {
  const { outside } = await sceneOf({})
  const store = createTiddlyWikiStore({
    workspaces: { gone: { folder: join(outside, 'gone') }, plain: { folder: outside } },
  })
  stores.push(store)
  await expect(store.open('gone')).rejects.toThrow('is not there')
  await expect((await store.open('plain')).get('x')).rejects.toThrow('--init server')
  const twice = [
    { name: 'a', folder: 'x' },
    { name: 'a', folder: 'y' },
  ]
  expect(() => createTiddlyWikiStore({ workspaces: twice })).toThrow('two workspaces "a"')
})
