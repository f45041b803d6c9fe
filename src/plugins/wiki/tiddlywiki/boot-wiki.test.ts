import { expect, test } from 'vitest'
import { checkVersion } from './boot-wiki.ts'

test.each(['5.3.5', '5.3.8', '5.3.10', '5.4.0-prerelease', '5.4.1', '5.10.0', '6.0.0'])(
  'TiddlyWiki %s will do',
  (version) => {
    expect(() => checkVersion(version)).not.toThrow()
  },
)

test.each(['5.1.23', '5.2.7', '5.3.0', '5.3.3', '4.9.9'])(
  'TiddlyWiki %s is refused, with the version to install',
  (version) => {
    expect(() => checkVersion(version)).toThrow(`5.3.5 or later, found ${version}: npm install tiddlywiki@latest`)
  },
)
