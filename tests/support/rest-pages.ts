/** Pages of a REST list, with the Link header that clients follow. */

import type { Received } from './http-exchange.ts'

export const paged = <T>(
  all: readonly T[],
  request: Received,
  apiUrl: string,
): { readonly items: readonly T[]; readonly headers: Readonly<Record<string, string>> } => {
  const size = Math.min(positive(request.query.get('per_page'), 30), 100)
  const page = positive(request.query.get('page'), 1)
  const last = Math.max(1, Math.ceil(all.length / size))
  const link = (rel: string, number: number) => {
    const query = new URLSearchParams(request.query)
    query.set('page', String(number))
    return `<${apiUrl}${request.path}?${query}>; rel="${rel}"`
  }
  const links = [
    ...(page > 1 ? [link('prev', page - 1)] : []),
    ...(page < last ? [link('next', page + 1), link('last', last)] : []),
    ...(page > 1 ? [link('first', 1)] : []),
  ]
  return {
    items: all.slice((page - 1) * size, page * size),
    headers: links.length > 0 ? { link: links.join(', ') } : {},
  }
}

const positive = (text: string | null, otherwise: number): number => {
  const number = Number(text)
  return Number.isInteger(number) && number > 0 ? number : otherwise
}
