// Written by Scripts/openapi from Documentation/openapi.json.

extension OpenAPIDocument {
  static let end =
    #"""
     as data, and a comment every 15 s. It ends after 15 minutes.","content":{"application/json\#
    ":{"schema":{"$ref":"#/components/schemas/Events"}},"text/event-stream":{"schema":{"type":"\#
    string"}}}},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/\#
    responses/Unauthorized"},"403":{"$ref":"#/components/responses/Forbidden"},"405":{"$ref":"#\#
    /components/responses/MethodNotAllowed"},"410":{"$ref":"#/components/responses/Gone"},"413"\#
    :{"$ref":"#/components/responses/TooLarge"},"414":{"$ref":"#/components/responses/TargetToo\#
    Long"},"431":{"$ref":"#/components/responses/HeadTooLong"},"500":{"$ref":"#/components/resp\#
    onses/Failed"},"501":{"$ref":"#/components/responses/NotImplemented"},"503":{"$ref":"#/comp\#
    onents/responses/Unavailable"}}}},"/v1/content-grants":{"post":{"operationId":"grantContent\#
    ","tags":["content"],"summary":"Get the URLs of purchased contents","description":"403: a c\#
    ontent is not in a purchase in the state purchased. 404: the version is not offered any mor\#
    e. Scope: content.","requestBody":{"required":true,"content":{"application/json":{"schema":\#
    {"$ref":"#/components/schemas/GrantRequest"}}}},"responses":{"200":{"description":"The pack\#
    age and the index of each content, at every content URL. No files if the packages are publi\#
    c.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Grants"}}}},"400"\#
    :{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/Unautho\#
    rized"},"403":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/components/respo\#
    nses/NotFound"},"405":{"$ref":"#/components/responses/MethodNotAllowed"},"413":{"$ref":"#/c\#
    omponents/responses/TooLarge"},"414":{"$ref":"#/components/responses/TargetTooLong"},"415":\#
    {"$ref":"#/components/responses/UnsupportedType"},"431":{"$ref":"#/components/responses/Hea\#
    dTooLong"},"500":{"$ref":"#/components/responses/Failed"},"501":{"$ref":"#/components/respo\#
    nses/NotImplemented"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/internal/aut\#
    horize":{"get":{"operationId":"authorize","tags":["content"],"summary":"Decide about a requ\#
    est of the content host","description":"For nginx's module auth_request. Only the grant in \#
    the URL counts; Authorization is ignored.","security":[],"parameters":[{"name":"X-Original-\#
    URI","in":"header","description":"The request target of the client, `$request_uri`.","schem\#
    a":{"type":"string"}}],"responses":{"204":{"description":"The request is allowed.","headers\#
    ":{"Cache-Control":{"required":true,"schema":{"type":"string","pattern":"^max-age=[0-9]{1,2\#
    }$"}}}},"401":{"description":"The URL has no grant.","headers":{"WWW-Authenticate":{"requir\#
    ed":true,"schema":{"type":"string","const":"Grant"}}}},"403":{"description":"The grant is i\#
    nvalid or has expired, or the path is ambiguous."},"400":{"$ref":"#/components/responses/Ba\#
    dRequest"},"405":{"$ref":"#/components/responses/MethodNotAllowed"},"413":{"$ref":"#/compon\#
    ents/responses/TooLarge"},"414":{"$ref":"#/components/responses/TargetTooLong"},"431":{"$re\#
    f":"#/components/responses/HeadTooLong"},"500":{"$ref":"#/components/responses/Failed"},"50\#
    1":{"$ref":"#/components/responses/NotImplemented"}}}},"/healthz":{"get":{"operationId":"re\#
    adHealth","tags":["server"],"summary":"Check that the process lives","security":[],"respons\#
    es":{"200":{"description":"It lives.","content":{"application/json":{"schema":{"type":"obje\#
    ct","required":["status"],"properties":{"status":{"const":"ok"}}}}}},"400":{"$ref":"#/compo\#
    nents/responses/BadRequest"},"405":{"$ref":"#/components/responses/MethodNotAllowed"},"413"\#
    :{"$ref":"#/components/responses/TooLarge"},"414":{"$ref":"#/components/responses/TargetToo\#
    Long"},"431":{"$ref":"#/components/responses/HeadTooLong"},"500":{"$ref":"#/components/resp\#
    onses/Failed"},"501":{"$ref":"#/components/responses/NotImplemented"}}}},"/readyz":{"get":{\#
    "operationId":"readReadiness","tags":["server"],"summary":"Check that the ledger and the ca\#
    talog can be read","security":[],"responses":{"200":{"description":"Both can be read.","con\#
    tent":{"application/json":{"schema":{"type":"object","required":["status"],"properties":{"s\#
    tatus":{"const":"ready"}}}}}},"400":{"$ref":"#/components/responses/BadRequest"},"405":{"$r\#
    ef":"#/components/responses/MethodNotAllowed"},"413":{"$ref":"#/components/responses/TooLar\#
    ge"},"414":{"$ref":"#/components/responses/TargetTooLong"},"431":{"$ref":"#/components/resp\#
    onses/HeadTooLong"},"500":{"$ref":"#/components/responses/Failed"},"501":{"$ref":"#/compone\#
    nts/responses/NotImplemented"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/\#
    openapi.json":{"get":{"operationId":"readDescription","tags":["server"],"summary":"Read thi\#
    s document","security":[],"responses":{"200":{"description":"An OpenAPI document.","content\#
    ":{"application/json":{"schema":{"type":"object","required":["openapi","info","paths"]}}}},\#
    "400":{"$ref":"#/components/responses/BadRequest"},"405":{"$ref":"#/components/responses/Me\#
    thodNotAllowed"},"413":{"$ref":"#/components/responses/TooLarge"},"414":{"$ref":"#/componen\#
    ts/responses/TargetTooLong"},"431":{"$ref":"#/components/responses/HeadTooLong"},"500":{"$r\#
    ef":"#/components/responses/Failed"},"501":{"$ref":"#/components/responses/NotImplemented"}\#
    }}}},"components":{"securitySchemes":{"bearer":{"type":"http","scheme":"bearer","descriptio\#
    n":"An opaque token (`hct_` and 43 characters), or a JWT (ES256 or EdDSA) with kid, iss = k\#
    id, aud = the server's origin, exp at most 15 minutes ahead, jti, and optionally sub = the \#
    only account that it can use."}},"parameters":{"Transaction":{"name":"transaction","in":"pa\#
    th","required":true,"description":"A slash is escaped as %2F.","schema":{"$ref":"#/componen\#
    ts/schemas/Transaction"}},"Account":{"name":"account","in":"path","required":true,"descript\#
    ion":"At most 256 bytes; `-` is the caller's own account. A slash is escaped as %2F.","sche\#
    ma":{"type":"string","pattern":"^([ -~]{1,256}|[^\\u0000-\\u001F\\u007F]{1,64})$"}},"IfNone\#
    Match":{"name":"If-None-Match","in":"header","schema":{"type":"string"}}},"headers":{"Allow\#
    ":{"description":"The methods of the path.","required":true,"schema":{"type":"string"}},"ET\#
    ag":{"description":"A strong entity tag.","schema":{"type":"string","pattern":"^\"[!-~]+\"$\#
    "}},"Link":{"description":"The next page.","schema":{"type":"string","pattern":"^</v1/produ\#
    cts\\?cursor=[A-Za-z0-9._-]+>; rel=\"next\"$"}},"RetryAfter":{"description":"Seconds to wai\#
    t.","schema":{"type":"string","pattern":"^[0-9]+$"}}},"responses":{"BadRequest":{"descripti\#
    on":"The request is invalid.","content":{"application/problem+json":{"schema":{"$ref":"#/co\#
    mponents/schemas/Problem"}}}},"Unauthorized":{"description":"The token or JWT is missing, i\#
    nvalid, expired or revoked.","headers":{"WWW-Authenticate":{"required":true,"schema":{"type\#
    ":"string","const":"Bearer"}}},"content":{"application/problem+json":{"schema":{"$ref":"#/c\#
    omponents/schemas/Problem"}}}},"Forbidden":{"description":"The caller may not do this.","co\#
    ntent":{"application/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}},"No\#
    tFound":{"description":"Not found.","content":{"application/problem+json":{"schema":{"$ref"\#
    :"#/components/schemas/Problem"}}}},"Conflict":{"description":"The change is not possible n\#
    ow; `state` is the state of the purchase.","headers":{"Retry-After":{"$ref":"#/components/h\#
    eaders/RetryAfter"}},"content":{"application/problem+json":{"schema":{"$ref":"#/components/\#
    schemas/Problem"}}}},"MethodNotAllowed":{"description":"The path does not support the metho\#
    d.","headers":{"Allow":{"$ref":"#/components/headers/Allow"}},"content":{"application/probl\#
    em+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}},"Gone":{"description":"The ev\#
    ents after the cursor are not available.","content":{"application/problem+json":{"schema":{\#
    "$ref":"#/components/schemas/Problem"}}}},"TooLarge":{"description":"The body is too large.\#
    ","content":{"application/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}\#
    },"TargetTooLong":{"description":"The request target is too long.","content":{"application/\#
    problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}},"UnsupportedType":{"desc\#
    ription":"The body is not declared as JSON.","content":{"application/problem+json":{"schema\#
    ":{"$ref":"#/components/schemas/Problem"}}}},"OtherRequest":{"description":"The transaction\#
     identifier was used for a different request.","content":{"application/problem+json":{"sche\#
    ma":{"$ref":"#/components/schemas/Problem"}}}},"HeadTooLong":{"description":"The request ta\#
    rget and the header fields are too long.","content":{"application/problem+json":{"schema":{\#
    "$ref":"#/components/schemas/Problem"}}}},"Failed":{"description":"The server has an intern\#
    al error.","content":{"application/problem+json":{"schema":{"$ref":"#/components/schemas/Pr\#
    oblem"}}}},"NotImplemented":{"description":"The body has a transfer coding other than chunk\#
    ed.","content":{"application/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"\#
    }}}},"Unavailable":{"description":"The server cannot process the request now.","headers":{"\#
    Retry-After":{"description":"Seconds to wait.","required":true,"schema":{"type":"string","p\#
    attern":"^[0-9]+$"}}},"content":{"application/problem+json":{"schema":{"$ref":"#/components\#
    /schemas/Problem"}}}}},"schemas":{"Problem":{"type":"object","required":["type","title","st\#
    atus","detail","code","remedy"],"properties":{"type":{"const":"about:blank"},"title":{"type\#
    ":"string"},"status":{"type":"integer","minimum":400,"maximum":599},"detail":{"type":"strin\#
    g"},"code":{"type":"integer","description":"The number of the error in this project."},"rem\#
    edy":{"type":"string"},"subject":{"type":"string"},"state":{"$ref":"#/components/schemas/St\#
    ate"}}},"Identifier":{"type":"string","pattern":"^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$","not":\#
    {"const":"CACHEDIR.TAG"}},"Version":{"type":"string","maxLength":200,"pattern":"^[0-9]{1,18\#
    }(\\.[0-9]{1,18}){0,15}$"},"Transaction":{"type":"string","pattern":"^[!-~]{1,128}$"},"Acco\#
    untName":{"type":["string","null"],"pattern":"^([ -~]{1,256}|[^\\u0000-\\u001F\\u007F]{1,64\#
    })$","description":"An opaque name of at most 256 bytes. Missing or `-`: the caller's own a\#
    ccount. Names that begin with `key-` are reserved."},"Cursor":{"type":"string","maxLength":\#
    128,"description":"Opaque.","pattern":"^([!-\\-/-~]{1,64}\\.(0|[1-9][0-9]{0,17}))?$"},"Stat\#
    e":{"enum":["deferred","purchased","failed","refunded","revoked"]},"Content":{"type":"objec\#
    t","required":["contentIdentifier","version"],"properties":{"contentIdentifier":{"$ref":"#/\#
    components/schemas/Identifier"},"version":{"$ref":"#/components/schemas/Version"}}},"NewPur\#
    chase":{"type":"object","additionalProperties":false,"required":["productIdentifier"],"prop\#
    erties":{"productIdentifier":{"$ref":"#/components/schemas/Identifier"},"account":{"$ref":"\#
    #/components/schemas/AccountName"},"quantity":{"type":["integer","null"],"minimum":1,"maxim\#
    um":10,"default":1},"askToBuy":{"type":["boolean","null"],"default":false,"description":"De\#
    fers the purchase until an administrator approves or declines it."},"voucher":{"type":["str\#
    ing","null"],"pattern":"^([ -~]{0,256}|[^\\u0000-\\u001F\\u007F]{0,64})$","description":"A \#
    code that pays for the product, if the server sells by vouchers."}}},"Batch":{"type":"objec\#
    t","additionalProperties":false,"required":["purchases"],"properties":{"purchases":{"type":\#
    "array","minItems":1,"maxItems":64,"items":{"anyOf":[{"type":"object","additionalProperties\#
    ":false,"required":["transactionIdentifier","productIdentifier"],"properties":{"transaction\#
    Identifier":{"$ref":"#/components/schemas/Transaction"},"productIdentifier":{"$ref":"#/comp\#
    onents/schemas/Identifier"},"account":{"$ref":"#/components/schemas/AccountName"},"quantity\#
    ":{"type":["integer","null"],"minimum":1,"maximum":10,"default":1},"askToBuy":{"type":["boo\#
    lean","null"],"default":false,"description":"Defers the purchase until an administrator app\#
    roves or declines it."},"voucher":{"type":["string","null"],"pattern":"^([ -~]{0,256}|[^\\u\#
    0000-\\u001F\\u007F]{0,64})$","description":"A code that pays for the product, if the serve\#
    r sells by vouchers."}}},{"description":"Anything else gets a problem as its result."}]}}}}\#
    ,"BatchResults":{"type":"object","required":["results"],"properties":{"results":{"type":"ar\#
    ray","minItems":1,"maxItems":64,"items":{"oneOf":[{"type":"object","required":["status","pu\#
    rchase"],"properties":{"status":{"enum":[200,201]},"purchase":{"$ref":"#/components/schemas\#
    /Purchase"}}},{"type":"object","required":["status","problem"],"properties":{"status":{"typ\#
    e":"integer","minimum":400,"maximum":599},"problem":{"$ref":"#/components/schemas/Problem"}\#
    }}]}}}},"Purchase":{"type":"object","required":["transactionIdentifier","productIdentifier"\#
    ,"account","quantity","state","purchaseDate","receipt","contents","isRestorable","isFinishe\#
    d","revision"],"properties":{"transactionIdentifier":{"type":"string"},"productIdentifier":\#
    {"$ref":"#/components/schemas/Identifier"},"account":{"type":["string","null"]},"quantity":\#
    {"type":"integer","minimum":1,"maximum":10},"state":{"$ref":"#/components/schemas/State"},"\#
    purchaseDate":{"type":"string","format":"date-time"},"receipt":{"type":["string","null"],"d\#
    escription":"A signed receipt (JWS); null before the purchase."},"contents":{"type":"array"\#
    ,"items":{"$ref":"#/components/schemas/Content"}},"isRestorable":{"type":"boolean"},"isFini\#
    shed":{"type":"boolean"},"revision":{"type":"integer","format":"int64"},"isInterrupted":{"c\#
    onst":true,"description":"It failed because the buyer must first do something at the seller\#
    ."},"reason":{"type":"string"},"revocationDate":{"type":"string","format":"date-time"}}},"P\#
    urchases":{"type":"object","required":["transactions","revision","hasMore"],"properties":{"\#
    transactions":{"type":"array","maxItems":1000,"items":{"$ref":"#/components/schemas/Purchas\#
    e"}},"revision":{"type":"integer","format":"int64","description":"`since` of the next reque\#
    st."},"hasMore":{"type":"boolean"}}},"Change":{"type":"object","additionalProperties":false\#
    ,"properties":{"reason":{"type":["string","null"],"description":"At most 1,000 bytes; the b\#
    uyer sees it.","pattern":"^([ -~]{0,1000}|[^\\u0000-\\u001F\\u007F]{0,250})$"}}},"Event":{"\#
    type":"object","required":["cursor","kind","account","transaction","at","purchase"],"proper\#
    ties":{"cursor":{"$ref":"#/components/schemas/Cursor"},"kind":{"enum":["purchased","decided\#
    ","refunded","revoked","reversed","published"],"description":"Other kinds may be added."},"\#
    wasInterrupted":{"type":"boolean","description":"Whether a decided purchase had failed befo\#
    re."},"account":{"type":["string","null"]},"transaction":{"type":["string","null"]},"at":{"\#
    type":"string","format":"date-time"},"purchase":{"oneOf":[{"$ref":"#/components/schemas/Pur\#
    chase"},{"type":"null"}]}}},"Events":{"type":"object","required":["events","cursor"],"prope\#
    rties":{"events":{"type":"array","maxItems":200,"items":{"$ref":"#/components/schemas/Event\#
    "}},"cursor":{"$ref":"#/components/schemas/Cursor"}}},"GrantRequest":{"type":"object","addi\#
    tionalProperties":false,"required":["contents"],"description":"Of an account, or of one tra\#
    nsaction.","properties":{"transaction":{"type":["string","null"],"pattern":"^[!-~]{1,128}$"\#
    },"account":{"$ref":"#/components/schemas/AccountName"},"contents":{"type":"array","minItem\#
    s":1,"maxItems":64,"items":{"type":"object","additionalProperties":false,"required":["conte\#
    ntIdentifier","version"],"properties":{"contentIdentifier":{"$ref":"#/components/schemas/Id\#
    entifier"},"version":{"$ref":"#/components/schemas/Version"}}}}},"not":{"required":["transa\#
    ction","account"],"properties":{"transaction":{"type":"string"},"account":{"type":"string"}\#
    }}},"Grants":{"type":"object","required":["expires","files"],"properties":{"expires":{"type\#
    ":"string","format":"date-time"},"files":{"type":"array","maxItems":128,"items":{"type":"ob\#
    ject","required":["target","urls"],"properties":{"target":{"type":"string","description":"T\#
    he path of the file below the store."},"urls":{"type":"array","items":{"type":"string","for\#
    mat":"uri"},"description":"Secret until they expire."}}}}}},"Products":{"type":"object","re\#
    quired":["products","invalid","failures","version"],"properties":{"products":{"type":"array\#
    ","maxItems":200,"items":{"$ref":"#/components/schemas/Product"}},"invalid":{"type":"array"\#
    ,"items":{"type":"string"}},"failures":{"type":"array","items":{"$ref":"#/components/schema\#
    s/Failure"}},"version":{"type":"string","description":"The version of the catalog."}}},"Fai\#
    lure":{"type":"object","required":["code","message","remedy","subject"],"properties":{"code\#
    ":{"type":"integer"},"message":{"type":"string"},"remedy":{"type":"string"},"subject":{"typ\#
    e":["string","null"]}}},"Product":{"type":"object","required":["productIdentifier","type","\#
    texts","contents"],"properties":{"productIdentifier":{"$ref":"#/components/schemas/Identifi\#
    er"},"type":{"enum":["non-consumable","consumable","auto-renewable","non-renewing"]},"texts\#
    ":{"type":"object","description":"By language (BCP 47).","additionalProperties":{"type":"ob\#
    ject","required":["title","description"],"properties":{"title":{"type":"string"},"descripti\#
    on":{"type":"string"},"releaseNotes":{"type":"string"}}}},"price":{"type":"string","pattern\#
    ":"^[0-9]+(\\.[0-9]+)?$"},"currency":{"type":"string"},"contents":{"type":"array","items":{\#
    "$ref":"#/components/schemas/Offer"}},"withdrawnVersions":{"type":"object","additionalPrope\#
    rties":{"type":"array","items":{"$ref":"#/components/schemas/Version"}}}}},"Offer":{"type":\#
    "object","required":["productIdentifier","contentIdentifier","version","installedSize","pac\#
    kage","index"],"properties":{"productIdentifier":{"$ref":"#/components/schemas/Identifier"}\#
    ,"contentIdentifier":{"$ref":"#/components/schemas/Identifier"},"version":{"$ref":"#/compon\#
    ents/schemas/Version"},"installedSize":{"type":"integer","minimum":0},"package":{"$ref":"#/\#
    components/schemas/File"},"index":{"$ref":"#/components/schemas/File"},"signers":{"type":"s\#
    tring"},"withdrawnVersions":{"type":"array","items":{"$ref":"#/components/schemas/Version"}\#
    }}},"File":{"type":"object","required":["path","length","digest"],"properties":{"path":{"ty\#
    pe":"string"},"length":{"type":"integer","minimum":0},"digest":{"type":"string","pattern":"\#
    ^[0-9a-f]{64}$"}}}}}}
    """#
}
