import { isAbsolute, join } from 'node:path'
import { messageOf } from '../../core/errors.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { KnowledgeStore } from '../../plugins/wiki/knowledge-store.ts'
import { CliError } from '../cli-error.ts'
import type { Config } from '../config/config.ts'
import type { Io } from '../io.ts'

/** The wikis of the user's settings. They are read only when an agent uses them. */
export async function openWikis(
  { wikis = {} }: Pick<Config, 'wikis'>,
  io: Pick<Io, 'home' | 'userHome'>,
): Promise<KnowledgeStore | undefined> {
  const named = Object.entries(wikis)
  if (named.length === 0) return undefined
  const { createTiddlyWikiStore } = await import('../../plugins/wiki/tiddlywiki/tiddlywiki-store.ts')
  try {
    return createTiddlyWikiStore({
      workspaces: named.map(([name, wiki]) => ({ ...wiki, name, folder: wikiFolder(wiki.folder, io) })),
    })
  } catch (error) {
    throw new CliError(
      `the wikis cannot be used: ${fullyVisible(messageOf(error))}; see: libero config get wikis`,
      undefined,
      { cause: error },
    )
  }
}

/** The path of a wiki in the settings: `~` is the user's home, and a relative path starts at the settings' folder. */
export function wikiFolder(folder: string, { home, userHome }: Pick<Io, 'home' | 'userHome'>): string {
  if (folder === '~' || folder.startsWith('~/')) return join(userHome, folder.slice(1))
  return isAbsolute(folder) ? folder : join(home, folder)
}
