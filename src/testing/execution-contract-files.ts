import { check, checkEqual } from './contract.ts'
import { codeOf, type ExecutionCases, run } from './execution-contract-kit.ts'

export const fileCases: ExecutionCases = {
  async 'a file is read as it was written'(context) {
    const handle = await context.spawn()
    for (const content of ['plain\n', '', 'ä 漢字 👩‍🚀 \u0000 \r\n "quotes" $HOME `x`\\', 'no newline at the end']) {
      await context.writeFile(handle, 'f.txt', content)
      checkEqual(await context.readFile(handle, 'f.txt'), content, 'the content')
    }
  },

  async 'a big file is read as it was written'(context) {
    const handle = await context.spawn()
    const content = 'größer 🎈\n'.repeat(200_000)
    await context.writeFile(handle, 'big.txt', content)
    check((await context.readFile(handle, 'big.txt')) === content, 'a file of 3 MB came back changed')
  },

  async 'file names may hold spaces, quotes and Unicode'(context) {
    const handle = await context.spawn()
    const names = ['a b.txt', `it's "q".txt`, 'ünï 漢.txt', '-n', '$HOME']
    for (const name of names) await context.writeFile(handle, name, name)
    for (const name of names) checkEqual(await context.readFile(handle, name), name, `the file ${name}`)
    checkEqual(await context.listFiles(handle, '.'), [...names].sort(), 'the list')
  },

  async 'missing folders are created'(context) {
    const handle = await context.spawn()
    await context.writeFile(handle, 'a/b/c.txt', 'deep')
    checkEqual(await context.readFile(handle, './a/b/../b/c.txt'), 'deep', 'the content')
  },

  async 'a missing file fails with the code ENOENT, and so does a missing folder'(context) {
    const handle = await context.spawn()
    checkEqual(await codeOf(context, context.readFile(handle, 'none.txt')), 'ENOENT', 'the code of a missing file')
    checkEqual(await codeOf(context, context.listFiles(handle, 'none')), 'ENOENT', 'the code of a missing folder')
  },

  async 'a folder lists its names, sorted, with a slash after folders'(context) {
    const handle = await context.spawn()
    for (const path of ['b.txt', 'c/inner.txt', 'a.txt', '.hidden', 'B/x.txt'])
      await context.writeFile(handle, path, '')
    checkEqual(await context.listFiles(handle, '.'), ['.hidden', 'B/', 'a.txt', 'b.txt', 'c/'], 'the list')
    checkEqual(await context.listFiles(handle, 'c'), ['inner.txt'], 'the list of a folder')
  },

  async 'an empty working folder lists nothing'(context) {
    checkEqual(await context.listFiles(await context.spawn(), '.'), [], 'the list')
  },

  async 'paths are relative to the cwd of the handle, or absolute'(context) {
    const { cwd } = await context.spawn()
    const inner = await context.spawn({ cwd: `${cwd}/sub` })
    checkEqual(inner.cwd, `${cwd}/sub`, 'the cwd')
    await context.writeFile(inner, 'f.txt', 'in sub')
    checkEqual(await context.readFile(inner, `${cwd}/sub/f.txt`), 'in sub', 'an absolute path')
    checkEqual(await context.readFile(inner, '../sub/f.txt'), 'in sub', 'a relative path')
    checkEqual(await context.listFiles(inner, '.'), ['f.txt'], 'the list')
  },
}

export const openFileCases: ExecutionCases = {
  async 'bytes are read back as they were written, whole or in part'(context) {
    const handle = await context.spawn()
    const bytes = Uint8Array.from({ length: 300_000 }, (_, i) => (i * 31) >> 2)
    await context.writeFile(handle, 'f.bin', bytes)
    const file = await context.openFile!(handle, 'f.bin')
    checkEqual(file.info.size, bytes.length, 'the size')
    check(isSame(await file.read(0, bytes.length), bytes), 'the bytes came back changed')
    check(isSame(await file.read(250_000, 1000), bytes.subarray(250_000, 251_000)), 'a part came back changed')
    check(isSame(await file.read(299_990, 1000), bytes.subarray(299_990)), 'the end came back changed')
    checkEqual((await file.read(300_000, 10)).length, 0, 'the number of bytes behind the end')
    await file.close()
  },

  async 'only files can be opened'(context) {
    const handle = await context.spawn()
    await context.writeFile(handle, 'folder/f.txt', '')
    checkEqual(await codeOf(context, context.openFile!(handle, 'folder')), 'EISDIR', 'the code of a folder')
    checkEqual(await codeOf(context, context.openFile!(handle, 'none')), 'ENOENT', 'the code of a missing file')
  },
}

export const statCases: ExecutionCases = {
  async 'stat tells kind and size, and fails with ENOENT when there is nothing'(context) {
    const handle = await context.spawn()
    await context.writeFile(handle, 'src/x', 'äöü')
    const [file, folder] = [await context.stat!(handle, 'src/x'), await context.stat!(handle, 'src')]
    checkEqual([file.kind, file.size, folder.kind], ['file', 6, 'folder'], 'kind and size')
    check(file.path.endsWith('/src/x'), `the path must be absolute, it is ${file.path}`)
    check(file.mtimeMs > 1e12, `the time must be in milliseconds, it is ${file.mtimeMs}`)
    checkEqual(await codeOf(context, context.stat!(handle, 'src/none')), 'ENOENT', 'the code of a missing file')
  },

  async 'a file has one key, whichever path leads to it'(context) {
    const handle = await context.spawn()
    for (const name of ['x', 'y']) await context.writeFile(handle, `src/${name}`, '')
    const paths = ['src/x', './src/x', 'src/../src/x', `${handle.cwd}/src/x`]
    const keys = await Promise.all(paths.map(async (path) => (await context.stat!(handle, path)).key))
    checkEqual(new Set(keys).size, 1, 'the number of keys')
    check((await context.stat!(handle, 'src/y')).key !== keys[0], 'another file must have another key')
  },

  async 'the stamp of a file is another one when its content is'(context) {
    const handle = await context.spawn()
    const stamps = new Set<string>()
    for (const content of ['one', 'two', 'three']) {
      await context.writeFile(handle, 'f.txt', content)
      const { stamp } = await context.stat!(handle, 'f.txt')
      checkEqual((await context.stat!(handle, 'f.txt')).stamp, stamp, 'the stamp of an unchanged file')
      stamps.add(stamp)
    }
    checkEqual(stamps.size, 3, 'the number of stamps')
  },

  async 'a write with a stale stamp is refused and leaves the file alone'(context) {
    const handle = await context.spawn()
    await context.writeFile(handle, 'f.txt', 'one')
    const { stamp } = await context.stat!(handle, 'f.txt')
    await context.writeFile(handle, 'f.txt', 'two', { ifStamp: stamp })
    checkEqual(
      await codeOf(context, context.writeFile(handle, 'f.txt', 'bad', { ifStamp: stamp })),
      'ESTALE',
      'the code',
    )
    checkEqual(
      await codeOf(context, context.writeFile(handle, 'g.txt', 'bad', { ifStamp: stamp })),
      'ESTALE',
      'the code',
    )
    checkEqual(await context.readFile(handle, 'f.txt'), 'two', 'the content')
    checkEqual(await context.listFiles(handle, '.'), ['f.txt'], 'the list')
  },

  async 'a write that wants no file there is refused when there is one'(context) {
    const handle = await context.spawn()
    await context.writeFile(handle, 'f.txt', 'first', { ifStamp: null })
    checkEqual(
      await codeOf(context, context.writeFile(handle, 'f.txt', 'bad', { ifStamp: null })),
      'ESTALE',
      'the code',
    )
    checkEqual(await context.readFile(handle, 'f.txt'), 'first', 'the content')
    checkEqual(await context.listFiles(handle, '.'), ['f.txt'], 'the list')
  },

  async 'a folder is neither read nor written as a file'(context) {
    const handle = await context.spawn()
    await context.writeFile(handle, 'folder/f.txt', '')
    checkEqual(await codeOf(context, context.readFile(handle, 'folder')), 'EISDIR', 'the code of reading')
    checkEqual(await codeOf(context, context.writeFile(handle, 'folder', 'x')), 'EISDIR', 'the code of writing')
    checkEqual(await context.listFiles(handle, 'folder'), ['f.txt'], 'the list')
  },
}

export const filesWithShellCases: ExecutionCases = {
  async 'overwriting keeps the mode of a file'(context) {
    const handle = await context.spawn()
    await context.writeFile(handle, 'f.sh', '#!/bin/sh\necho one\n')
    await run(context, 'chmod 755 f.sh', handle)
    await context.writeFile(handle, 'f.sh', '#!/bin/sh\necho two\n')
    checkEqual((await run(context, './f.sh', handle)).stdout, 'two\n', 'what the script says')
  },

  async 'the stamp tells of a change in place by a command'(context) {
    const handle = await context.spawn()
    await run(context, 'printf one > f.txt', handle)
    const { stamp } = await context.stat!(handle, 'f.txt')
    await run(context, 'printf two > f.txt', handle)
    check((await context.stat!(handle, 'f.txt')).stamp !== stamp, 'the stamp must be another one')
    checkEqual(
      await codeOf(context, context.writeFile(handle, 'f.txt', 'bad', { ifStamp: stamp })),
      'ESTALE',
      'the code',
    )
    checkEqual(await context.readFile(handle, 'f.txt'), 'two', 'the content')
  },

  async 'a pipe is refused, not waited for'(context) {
    const handle = await context.spawn()
    await run(context, 'mkfifo pipe', handle)
    checkEqual((await context.stat!(handle, 'pipe')).kind, 'other', 'the kind')
    await codeOf(context, context.readFile(handle, 'pipe'))
    await codeOf(context, context.writeFile(handle, 'pipe', 'x'))
    if (context.openFile) await codeOf(context, context.openFile(handle, 'pipe'))
  },
}

const isSame = (a: Uint8Array, b: Uint8Array) => a.length === b.length && a.every((byte, i) => byte === b[i])
