import { describe, expect, test } from 'vitest'
import { curlHosts, hostsIn, wgetHosts } from './hosts.ts'

const words = (line: string): string[] => line.split(' ').slice(1)

describe('S07 the hosts of a line of curl', () => {
  test.each<[string, (string | undefined)[]]>([
    ['curl https://a.test/x', ['a.test']],
    ['curl -sS -o out.json https://a.test/x', ['a.test']],
    ['curl -fsSo out.json -H X:y --max-time 5 https://user:pw@A.test.:8443/x', ['a.test']],
    ['curl -d @body.json -X POST --url https://a.test', ['a.test']],
    ['curl https://a.test b.test', ['a.test', 'b.test']],
    ['curl https://a.test -: b.test/x', ['a.test', 'b.test']],
    ['curl a.test --next --url=b.test:81', ['a.test', 'b.test']],
    ['curl -x b.test:3128 https://a.test', ['a.test', 'b.test']],
    ['curl -xb.test https://a.test', ['a.test', 'b.test']],
    ['curl -sx http://u@b.test:1 https://a.test', ['a.test', 'b.test']],
    ['curl --proxy socks5h://b.test https://a.test', ['a.test', 'b.test']],
    ['curl --preproxy=b.test https://a.test', ['a.test', 'b.test']],
    ['curl --socks5-hostname b.test a.test', ['a.test', 'b.test']],
    ['curl --doh-url https://b.test/q a.test', ['a.test', 'b.test']],
    ['curl --connect-to a.test:443:b.test:443 https://a.test', ['a.test', 'b.test']],
    ['curl --connect-to ::b.test:443 https://a.test', ['a.test', 'b.test']],
    ['curl --connect-to=::[::1]:443 https://a.test', ['a.test', '::1']],
    ['curl --resolve a.test:443:10.0.0.7,[::1] https://a.test', ['a.test', '10.0.0.7', '::1']],
    ['curl --resolve *:443:10.0.0.7 https://a.test', ['a.test', '10.0.0.7']],
    ['curl http://b.%74est/', ['b.test']],
    ['curl http://bücher.test/', ['xn--bcher-kva.test']],
    ['curl http://a.test@b.test/', ['b.test']],
    ['curl http:/b.test/', ['b.test']],
    ['curl http:///b.test/', ['b.test']],
    ['curl http://2130706433/', ['127.0.0.1']],
    ['curl -g http://[::1]:80/', ['::1']],
    ['curl telnet://b.test:25 gopher://c.test', ['b.test', 'c.test']],
    ['curl -- b.test', ['b.test']],
  ])('%s', (line, hosts) => {
    expect([...new Set(curlHosts(words(line)))].sort()).toEqual([...hosts].sort())
  })

  test.each([
    'curl -L https://a.test',
    'curl -sSLo out https://a.test',
    'curl --location-trusted https://a.test',
    'curl -K urls https://a.test',
    'curl --config=urls https://a.test',
    'curl --prox b.test https://a.test',
    'curl --connect-to a.test https://a.test',
    'curl --variable %HOME --expand-url=https://x https://a.test',
    'curl https://{a,b}.test/',
    'curl https://[a-c].test/',
    'curl https://$HOST/',
    'curl https://a.test\\@b.test/',
    'curl --alt-svc f https://a.test',
    'curl --dns-servers 1.1.1.1 https://a.test',
    'curl --brand-new b.test https://a.test',
    'curl',
  ])('%s is not certain', (line) => {
    expect(curlHosts(words(line))).toContain(undefined)
  })
})

describe('S07 the hosts of a line of wget', () => {
  test.each<[string, (string | undefined)[]]>([
    ['wget --max-redirect=0 https://a.test/x b.test', ['a.test', 'b.test']],
    ['wget --max-redirect 0 -qO- https://a.test/x', ['a.test']],
    ['wget https://a.test/x', ['a.test', undefined]],
    ['wget --max-redirect=0 -i urls https://a.test', ['a.test', undefined]],
    ['wget --max-redirect=0 -e https_proxy=b.test https://a.test', ['a.test', undefined]],
    ['wget --max-redirect=0 --config=x https://a.test', ['a.test', undefined]],
    ['wget --max-redirect=0 --inp=urls https://a.test', ['a.test', undefined]],
  ])('%s', (line, hosts) => {
    expect(wgetHosts(words(line))).toEqual(hosts)
  })
})

test.each<[string, (string | undefined)[]]>([
  ['git clone https://a.test/x', ['a.test']],
  ['git clone git@a.test:x/y', ['a.test']],
  ['git -c http.proxy=http://b.test clone https://a.test/x', ['b.test', 'a.test']],
  ['scp f user@a.test:/tmp', ['a.test']],
  ['http https://a.test b.test', ['a.test', undefined]],
  ['ssh host', [undefined]],
  ['npm install --registry=https://b.test', ['b.test']],
])('S07 the hosts of %s', (line, hosts) => {
  expect(hostsIn(words(line))).toEqual(hosts)
})
