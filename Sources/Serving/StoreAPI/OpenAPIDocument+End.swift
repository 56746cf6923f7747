// Written by Scripts/openapi from Documentation/openapi.json.

extension OpenAPIDocument {
  static let end =
    #"""
    d its JSON as data, and a comment every 15 s. It ends after 15 minutes.","content":{"applic\#
    ation/json":{"schema":{"$ref":"#/components/schemas/Events"}},"text/event-stream":{"schema"\#
    :{"type":"string"}}}},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/c\#
    omponents/responses/Unauthorized"},"403":{"$ref":"#/components/responses/Forbidden"},"405":\#
    {"$ref":"#/components/responses/MethodNotAllowed"},"410":{"$ref":"#/components/responses/Go\#
    ne"},"413":{"$ref":"#/components/responses/TooLarge"},"414":{"$ref":"#/components/responses\#
    /TargetTooLong"},"431":{"$ref":"#/components/responses/HeadTooLong"},"500":{"$ref":"#/compo\#
    nents/responses/Failed"},"501":{"$ref":"#/components/responses/NotImplemented"},"503":{"$re\#
    f":"#/components/responses/Unavailable"}}}},"/v1/content-grants":{"post":{"operationId":"gr\#
    antContent","tags":["content"],"summary":"Get the URLs of purchased contents","description"\#
    :"403: a content is not in a purchase in the state purchased. 404: the version is not offer\#
    ed any more. Scope: content.","requestBody":{"required":true,"content":{"application/json":\#
    {"schema":{"$ref":"#/components/schemas/GrantRequest"}}}},"responses":{"200":{"description"\#
    :"The package and the index of each content, at every content URL. No files if the packages\#
     are public.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Grants"\#
    }}}},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/respons\#
    es/Unauthorized"},"403":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/compon\#
    ents/responses/NotFound"},"405":{"$ref":"#/components/responses/MethodNotAllowed"},"413":{"\#
    $ref":"#/components/responses/TooLarge"},"414":{"$ref":"#/components/responses/TargetTooLon\#
    g"},"415":{"$ref":"#/components/responses/UnsupportedType"},"431":{"$ref":"#/components/res\#
    ponses/HeadTooLong"},"500":{"$ref":"#/components/responses/Failed"},"501":{"$ref":"#/compon\#
    ents/responses/NotImplemented"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/in\#
    ternal/authorize":{"get":{"operationId":"authorize","tags":["content"],"summary":"Decide ab\#
    out a request of the content host","description":"For nginx's module auth_request. Only the\#
     grant in the URL counts; Authorization is ignored.","security":[],"parameters":[{"name":"X\#
    -Original-URI","in":"header","description":"The request target of the client, `$request_uri\#
    `.","schema":{"type":"string"}}],"responses":{"204":{"description":"The request is allowed.\#
    ","headers":{"Cache-Control":{"required":true,"schema":{"type":"string","pattern":"^max-age\#
    =[0-9]{1,2}$"}}}},"401":{"description":"The URL has no grant.","headers":{"WWW-Authenticate\#
    ":{"required":true,"schema":{"type":"string","const":"Grant"}}}},"403":{"description":"The \#
    grant is invalid or has expired, or the path is ambiguous."},"400":{"$ref":"#/components/re\#
    sponses/BadRequest"},"405":{"$ref":"#/components/responses/MethodNotAllowed"},"413":{"$ref"\#
    :"#/components/responses/TooLarge"},"414":{"$ref":"#/components/responses/TargetTooLong"},"\#
    431":{"$ref":"#/components/responses/HeadTooLong"},"500":{"$ref":"#/components/responses/Fa\#
    iled"},"501":{"$ref":"#/components/responses/NotImplemented"}}}},"/healthz":{"get":{"operat\#
    ionId":"readHealth","tags":["server"],"summary":"Check that the process lives","security":[\#
    ],"responses":{"200":{"description":"It lives.","content":{"application/json":{"schema":{"t\#
    ype":"object","required":["status"],"properties":{"status":{"const":"ok"}}}}}},"400":{"$ref\#
    ":"#/components/responses/BadRequest"},"405":{"$ref":"#/components/responses/MethodNotAllow\#
    ed"},"413":{"$ref":"#/components/responses/TooLarge"},"414":{"$ref":"#/components/responses\#
    /TargetTooLong"},"431":{"$ref":"#/components/responses/HeadTooLong"},"500":{"$ref":"#/compo\#
    nents/responses/Failed"},"501":{"$ref":"#/components/responses/NotImplemented"}}}},"/readyz\#
    ":{"get":{"operationId":"readReadiness","tags":["server"],"summary":"Check that the ledger \#
    and the catalog can be read","security":[],"responses":{"200":{"description":"Both can be r\#
    ead.","content":{"application/json":{"schema":{"type":"object","required":["status"],"prope\#
    rties":{"status":{"const":"ready"}}}}}},"400":{"$ref":"#/components/responses/BadRequest"},\#
    "405":{"$ref":"#/components/responses/MethodNotAllowed"},"413":{"$ref":"#/components/respon\#
    ses/TooLarge"},"414":{"$ref":"#/components/responses/TargetTooLong"},"431":{"$ref":"#/compo\#
    nents/responses/HeadTooLong"},"500":{"$ref":"#/components/responses/Failed"},"501":{"$ref":\#
    "#/components/responses/NotImplemented"},"503":{"$ref":"#/components/responses/Unavailable"\#
    }}}},"/v1/openapi.json":{"get":{"operationId":"readDescription","tags":["server"],"summary"\#
    :"Read this document","security":[],"responses":{"200":{"description":"An OpenAPI document.\#
    ","content":{"application/json":{"schema":{"type":"object","required":["openapi","info","pa\#
    ths"]}}}},"400":{"$ref":"#/components/responses/BadRequest"},"405":{"$ref":"#/components/re\#
    sponses/MethodNotAllowed"},"413":{"$ref":"#/components/responses/TooLarge"},"414":{"$ref":"\#
    #/components/responses/TargetTooLong"},"431":{"$ref":"#/components/responses/HeadTooLong"},\#
    "500":{"$ref":"#/components/responses/Failed"},"501":{"$ref":"#/components/responses/NotImp\#
    lemented"}}}}},"components":{"securitySchemes":{"bearer":{"type":"http","scheme":"bearer","\#
    description":"An opaque token (`hct_` and 43 characters), or a JWT (ES256 or EdDSA) with ki\#
    d, iss = kid, aud = the server's origin, exp at most 15 minutes ahead, jti, and optionally \#
    sub = the only account that it can use."}},"parameters":{"Transaction":{"name":"transaction\#
    ","in":"path","required":true,"description":"A slash is escaped as %2F.","schema":{"$ref":"\#
    #/components/schemas/Transaction"}},"Account":{"name":"account","in":"path","required":true\#
    ,"description":"At most 256 bytes; `-` is the caller's own account. A slash is escaped as %\#
    2F.","schema":{"type":"string","pattern":"^([ -~]{1,256}|[^\\u0000-\\u001F\\u007F]{1,64})$"\#
    }},"IfNoneMatch":{"name":"If-None-Match","in":"header","schema":{"type":"string"}}},"header\#
    s":{"Allow":{"description":"The methods of the path.","required":true,"schema":{"type":"str\#
    ing"}},"ETag":{"description":"A strong entity tag.","schema":{"type":"string","pattern":"^\\#
    "[!-~]+\"$"}},"Link":{"description":"The next page.","schema":{"type":"string","pattern":"^\#
    </v1/products\\?cursor=[A-Za-z0-9._-]+>; rel=\"next\"$"}},"RetryAfter":{"description":"Seco\#
    nds to wait.","schema":{"type":"string","pattern":"^[0-9]+$"}}},"responses":{"BadRequest":{\#
    "description":"The request is invalid.","content":{"application/problem+json":{"schema":{"$\#
    ref":"#/components/schemas/Problem"}}}},"Unauthorized":{"description":"The token or JWT is \#
    missing, invalid, expired or revoked.","headers":{"WWW-Authenticate":{"required":true,"sche\#
    ma":{"type":"string","const":"Bearer"}}},"content":{"application/problem+json":{"schema":{"\#
    $ref":"#/components/schemas/Problem"}}}},"Forbidden":{"description":"The caller may not do \#
    this.","content":{"application/problem+json":{"schema":{"$ref":"#/components/schemas/Proble\#
    m"}}}},"NotFound":{"description":"Not found.","content":{"application/problem+json":{"schem\#
    a":{"$ref":"#/components/schemas/Problem"}}}},"Conflict":{"description":"The change is not \#
    possible now; `state` is the state of the purchase.","headers":{"Retry-After":{"$ref":"#/co\#
    mponents/headers/RetryAfter"}},"content":{"application/problem+json":{"schema":{"$ref":"#/c\#
    omponents/schemas/Problem"}}}},"MethodNotAllowed":{"description":"The path does not support\#
     the method.","headers":{"Allow":{"$ref":"#/components/headers/Allow"}},"content":{"applica\#
    tion/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}},"Gone":{"descriptio\#
    n":"The events after the cursor are not available.","content":{"application/problem+json":{\#
    "schema":{"$ref":"#/components/schemas/Problem"}}}},"TooLarge":{"description":"The body is \#
    too large.","content":{"application/problem+json":{"schema":{"$ref":"#/components/schemas/P\#
    roblem"}}}},"TargetTooLong":{"description":"The request target is too long.","content":{"ap\#
    plication/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}},"UnsupportedTy\#
    pe":{"description":"The body is not declared as JSON.","content":{"application/problem+json\#
    ":{"schema":{"$ref":"#/components/schemas/Problem"}}}},"OtherRequest":{"description":"The t\#
    ransaction identifier was used for a different request.","content":{"application/problem+js\#
    on":{"schema":{"$ref":"#/components/schemas/Problem"}}}},"HeadTooLong":{"description":"The \#
    request target and the header fields are too long.","content":{"application/problem+json":{\#
    "schema":{"$ref":"#/components/schemas/Problem"}}}},"Failed":{"description":"The server has\#
     an internal error.","content":{"application/problem+json":{"schema":{"$ref":"#/components/\#
    schemas/Problem"}}}},"NotImplemented":{"description":"The body has a transfer coding other \#
    than chunked.","content":{"application/problem+json":{"schema":{"$ref":"#/components/schema\#
    s/Problem"}}}},"Unavailable":{"description":"The server cannot process the request now.","h\#
    eaders":{"Retry-After":{"description":"Seconds to wait.","required":true,"schema":{"type":"\#
    string","pattern":"^[0-9]+$"}}},"content":{"application/problem+json":{"schema":{"$ref":"#/\#
    components/schemas/Problem"}}}}},"schemas":{"Problem":{"type":"object","required":["type","\#
    title","status","detail","code","remedy"],"properties":{"type":{"const":"about:blank"},"tit\#
    le":{"type":"string"},"status":{"type":"integer","minimum":400,"maximum":599},"detail":{"ty\#
    pe":"string"},"code":{"type":"integer","description":"The number of the error in this proje\#
    ct."},"remedy":{"type":"string"},"subject":{"type":"string"},"state":{"$ref":"#/components/\#
    schemas/State"}}},"Identifier":{"type":"string","pattern":"^[A-Za-z0-9][A-Za-z0-9._-]{0,199\#
    }$","not":{"const":"CACHEDIR.TAG"}},"Version":{"type":"string","maxLength":200,"pattern":"^\#
    [0-9]{1,18}(\\.[0-9]{1,18}){0,15}$"},"Transaction":{"type":"string","pattern":"^[!-~]{1,128\#
    }$"},"AccountName":{"type":["string","null"],"pattern":"^([ -~]{1,256}|[^\\u0000-\\u001F\\u\#
    007F]{1,64})$","description":"An opaque name of at most 256 bytes. Missing or `-`: the call\#
    er's own account. Names that begin with `key-` are reserved."},"Cursor":{"type":"string","m\#
    axLength":128,"description":"Opaque.","pattern":"^([!-\\-/-~]{1,64}\\.(0|[1-9][0-9]{0,17}))\#
    ?$"},"State":{"enum":["deferred","purchased","failed","refunded","revoked"]},"Content":{"ty\#
    pe":"object","required":["contentIdentifier","version"],"properties":{"contentIdentifier":{\#
    "$ref":"#/components/schemas/Identifier"},"version":{"$ref":"#/components/schemas/Version"}\#
    }},"NewPurchase":{"type":"object","additionalProperties":false,"required":["productIdentifi\#
    er"],"properties":{"productIdentifier":{"$ref":"#/components/schemas/Identifier"},"account"\#
    :{"$ref":"#/components/schemas/AccountName"},"quantity":{"type":["integer","null"],"minimum\#
    ":1,"maximum":10,"default":1},"askToBuy":{"type":["boolean","null"],"default":false,"descri\#
    ption":"Defers the purchase until an administrator approves or declines it."},"voucher":{"t\#
    ype":["string","null"],"pattern":"^([ -~]{0,256}|[^\\u0000-\\u001F\\u007F]{0,64})$","descri\#
    ption":"A code that pays for the product, if the server sells by vouchers."}}},"Batch":{"ty\#
    pe":"object","additionalProperties":false,"required":["purchases"],"properties":{"purchases\#
    ":{"type":"array","minItems":1,"maxItems":64,"items":{"anyOf":[{"type":"object","additional\#
    Properties":false,"required":["transactionIdentifier","productIdentifier"],"properties":{"t\#
    ransactionIdentifier":{"$ref":"#/components/schemas/Transaction"},"productIdentifier":{"$re\#
    f":"#/components/schemas/Identifier"},"account":{"$ref":"#/components/schemas/AccountName"}\#
    ,"quantity":{"type":["integer","null"],"minimum":1,"maximum":10,"default":1},"askToBuy":{"t\#
    ype":["boolean","null"],"default":false,"description":"Defers the purchase until an adminis\#
    trator approves or declines it."},"voucher":{"type":["string","null"],"pattern":"^([ -~]{0,\#
    256}|[^\\u0000-\\u001F\\u007F]{0,64})$","description":"A code that pays for the product, if\#
     the server sells by vouchers."}}},{"description":"Anything else gets a problem as its resu\#
    lt."}]}}}},"BatchResults":{"type":"object","required":["results"],"properties":{"results":{\#
    "type":"array","minItems":1,"maxItems":64,"items":{"oneOf":[{"type":"object","required":["s\#
    tatus","purchase"],"properties":{"status":{"enum":[200,201]},"purchase":{"$ref":"#/componen\#
    ts/schemas/Purchase"}}},{"type":"object","required":["status","problem"],"properties":{"sta\#
    tus":{"type":"integer","minimum":400,"maximum":599},"problem":{"$ref":"#/components/schemas\#
    /Problem"}}}]}}}},"Purchase":{"type":"object","required":["transactionIdentifier","productI\#
    dentifier","account","quantity","state","purchaseDate","receipt","contents","isRestorable",\#
    "isFinished","revision"],"properties":{"transactionIdentifier":{"type":"string"},"productId\#
    entifier":{"$ref":"#/components/schemas/Identifier"},"account":{"type":["string","null"]},"\#
    quantity":{"type":"integer","minimum":1,"maximum":10},"state":{"$ref":"#/components/schemas\#
    /State"},"purchaseDate":{"type":"string","format":"date-time"},"receipt":{"type":["string",\#
    "null"],"description":"A signed receipt (JWS); null before the purchase."},"contents":{"typ\#
    e":"array","items":{"$ref":"#/components/schemas/Content"}},"isRestorable":{"type":"boolean\#
    "},"isFinished":{"type":"boolean"},"revision":{"type":"integer","format":"int64"},"isInterr\#
    upted":{"const":true,"description":"It failed because the buyer must first do something at \#
    the seller."},"reason":{"type":"string"},"revocationDate":{"type":"string","format":"date-t\#
    ime"}}},"Purchases":{"type":"object","required":["transactions","revision","hasMore"],"prop\#
    erties":{"transactions":{"type":"array","maxItems":1000,"items":{"$ref":"#/components/schem\#
    as/Purchase"}},"revision":{"type":"integer","format":"int64","description":"`since` of the \#
    next request."},"hasMore":{"type":"boolean"}}},"Change":{"type":"object","additionalPropert\#
    ies":false,"properties":{"reason":{"type":["string","null"],"description":"At most 1,000 by\#
    tes; the buyer sees it.","pattern":"^([ -~]{0,1000}|[^\\u0000-\\u001F\\u007F]{0,250})$"}}},\#
    "Event":{"type":"object","required":["cursor","kind","account","transaction","at","purchase\#
    "],"properties":{"cursor":{"$ref":"#/components/schemas/Cursor"},"kind":{"enum":["purchased\#
    ","decided","refunded","revoked","reversed","published"],"description":"Other kinds may be \#
    added."},"wasInterrupted":{"type":"boolean","description":"Whether a decided purchase had f\#
    ailed before."},"account":{"type":["string","null"]},"transaction":{"type":["string","null"\#
    ]},"at":{"type":"string","format":"date-time"},"purchase":{"oneOf":[{"$ref":"#/components/s\#
    chemas/Purchase"},{"type":"null"}]}}},"Events":{"type":"object","required":["events","curso\#
    r"],"properties":{"events":{"type":"array","maxItems":200,"items":{"$ref":"#/components/sch\#
    emas/Event"}},"cursor":{"$ref":"#/components/schemas/Cursor"}}},"GrantRequest":{"type":"obj\#
    ect","additionalProperties":false,"required":["contents"],"description":"Of an account, or \#
    of one transaction.","properties":{"transaction":{"type":["string","null"],"pattern":"^[!-~\#
    ]{1,128}$"},"account":{"$ref":"#/components/schemas/AccountName"},"contents":{"type":"array\#
    ","minItems":1,"maxItems":64,"items":{"type":"object","additionalProperties":false,"require\#
    d":["contentIdentifier","version"],"properties":{"contentIdentifier":{"$ref":"#/components/\#
    schemas/Identifier"},"version":{"$ref":"#/components/schemas/Version"}}}}},"not":{"required\#
    ":["transaction","account"],"properties":{"transaction":{"type":"string"},"account":{"type"\#
    :"string"}}}},"Grants":{"type":"object","required":["expires","files"],"properties":{"expir\#
    es":{"type":"string","format":"date-time"},"files":{"type":"array","maxItems":128,"items":{\#
    "type":"object","required":["target","urls"],"properties":{"target":{"type":"string","descr\#
    iption":"The path of the file below the store."},"urls":{"type":"array","items":{"type":"st\#
    ring","format":"uri"},"description":"Secret until they expire."}}}}}},"Products":{"type":"o\#
    bject","required":["products","invalid","failures","version"],"properties":{"products":{"ty\#
    pe":"array","maxItems":200,"items":{"$ref":"#/components/schemas/Product"}},"invalid":{"typ\#
    e":"array","items":{"type":"string"}},"failures":{"type":"array","items":{"$ref":"#/compone\#
    nts/schemas/Failure"}},"version":{"type":"string","description":"The version of the catalog\#
    ."}}},"Failure":{"type":"object","required":["code","message","remedy","subject"],"properti\#
    es":{"code":{"type":"integer"},"message":{"type":"string"},"remedy":{"type":"string"},"subj\#
    ect":{"type":["string","null"]}}},"Product":{"type":"object","required":["productIdentifier\#
    ","type","texts","contents"],"properties":{"productIdentifier":{"$ref":"#/components/schema\#
    s/Identifier"},"type":{"enum":["non-consumable","consumable","auto-renewable","non-renewing\#
    "]},"texts":{"type":"object","description":"By language (BCP 47).","additionalProperties":{\#
    "type":"object","required":["title","description"],"properties":{"title":{"type":"string"},\#
    "description":{"type":"string"},"releaseNotes":{"type":"string"}}}},"price":{"type":"string\#
    ","pattern":"^[0-9]+(\\.[0-9]+)?$"},"currency":{"type":"string"},"contents":{"type":"array"\#
    ,"items":{"$ref":"#/components/schemas/Offer"}},"withdrawnVersions":{"type":"object","addit\#
    ionalProperties":{"type":"array","items":{"$ref":"#/components/schemas/Version"}}}}},"Offer\#
    ":{"type":"object","required":["productIdentifier","contentIdentifier","version","installed\#
    Size","package","index"],"properties":{"productIdentifier":{"$ref":"#/components/schemas/Id\#
    entifier"},"contentIdentifier":{"$ref":"#/components/schemas/Identifier"},"version":{"$ref"\#
    :"#/components/schemas/Version"},"installedSize":{"type":"integer","minimum":0},"package":{\#
    "$ref":"#/components/schemas/File"},"index":{"$ref":"#/components/schemas/File"},"signers":\#
    {"type":"string"},"withdrawnVersions":{"type":"array","items":{"$ref":"#/components/schemas\#
    /Version"}}}},"File":{"type":"object","required":["path","length","digest"],"properties":{"\#
    path":{"type":"string"},"length":{"type":"integer","minimum":0},"digest":{"type":"string","\#
    pattern":"^[0-9a-f]{64}$"}}}}}}
    """#
}
