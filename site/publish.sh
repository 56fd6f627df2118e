#!/usr/bin/env bash
# Builds the site of this checkout into site/.vitepress/dist, and the site of each release into
# a folder with its version below that. The environment has SITE_BASE, the path at which
# the site is served, such as /retrygen/, and SITE_URL, its URL without a slash at the end.
set -euo pipefail
cd "$(dirname "$0")"

base=${SITE_BASE:-/}
export SITE_CHANGELOG=$PWD/../CHANGELOG.md # names the versions that came after a release
dist=$PWD/.vitepress/dist
releases=$(mktemp -d)
trap 'rm -rf "$releases"; git worktree prune' EXIT

npm ci
npm run build
for tag in $(git tag --list 'v*'); do
	git worktree add --quiet --detach "$releases/$tag" "$tag"
	(
		cd "$releases/$tag/site"
		npm ci
		SITE_BASE=$base$tag/ SITE_REF=$tag npm run build
		mv .vitepress/dist "$dist/$tag"
	)
done
