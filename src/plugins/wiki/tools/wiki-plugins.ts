import type { PluginDefinition } from '../../plugin.ts'
import { editTiddler } from './edit-tiddler.ts'
import { wikiBacklinks } from './wiki-backlinks.ts'
import { wikiGetErrors } from './wiki-get-errors.ts'
import { wikiListTiddlers } from './wiki-list-tiddlers.ts'
import { wikiOperation } from './wiki-operation.ts'
import { wikiRecent } from './wiki-recent.ts'
import { wikiSearch } from './wiki-search.ts'
import { wikiToc } from './wiki-toc.ts'

/** Every plugin for wikis. */
export const wikiPlugins: readonly PluginDefinition[] = [
  wikiSearch,
  wikiBacklinks,
  wikiToc,
  wikiRecent,
  wikiListTiddlers,
  wikiGetErrors,
  wikiOperation,
  editTiddler,
]
