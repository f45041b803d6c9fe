import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from '../../core/errors.ts'
import { isRecord } from '../../core/is-record.ts'
import { wikiFolder } from '../agents/open-wikis.ts'
import { broken, type Check, ok } from './check.ts'

/** The wikis that the settings name, whether their folders are there and are wikis. None is opened. */
export const wikis: Check = {
  name: 'wikis',
  async look({ io, config }) {
    const named = Object.entries((await config).wikis ?? {})
    if (named.length === 0) return ok('none are named')
    const found = await Promise.all(
      named.map(async ([name, { folder }]) => {
        const place = wikiFolder(folder, io)
        return { name, place, flaw: await flawOf(place) }
      }),
    )
    const wrong = found.filter(({ flaw }) => flaw !== undefined)
    const [first] = wrong
    if (!first) return ok(found.map(({ name, place }) => `${name} in ${place}`).join(', '))
    return broken(
      wrong.map(({ name, place, flaw }) => `${name}: ${place} ${flaw}`).join('; '),
      `make a wiki there: npx tiddlywiki ${JSON.stringify(first.place)} --init server; or name another folder: libero config set wikis.${first.name} '{"folder": "…"}'`,
    )
  },
}

async function flawOf(folder: string): Promise<string | undefined> {
  const place = await stat(folder).catch(codeOf)
  if (place === 'ENOENT') return 'is not there'
  if (typeof place !== 'object') return `cannot be read (${place ?? 'unknown'})`
  if (!place.isDirectory()) return 'is no folder'
  const info = await readFile(join(folder, 'tiddlywiki.info'), 'utf8').catch((error) => ({ code: codeOf(error) }))
  if (typeof info === 'object')
    return info.code === 'ENOENT'
      ? 'is no wiki: there is no tiddlywiki.info in it'
      : `is no wiki that can be read: its tiddlywiki.info cannot (${info.code ?? 'unknown'})`
  try {
    if (isRecord(JSON.parse(info))) return undefined
  } catch {}
  return 'is no wiki that can be read: its tiddlywiki.info is no JSON object'
}
